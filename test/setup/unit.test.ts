import { execFile, spawn } from 'node:child_process';
import { chromium } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { emptyDatabaseUrl } from '../postgres.ts';

describe('a unit test', () => {
  it('starts no process', () => {
    expect(() => spawn('true')).toThrow('A unit test may not start true');
    expect(() => execFile('true')).toThrow('A unit test may not start true');
  });

  it('starts no browser', async () => {
    await expect(chromium.launch({ executablePath: process.execPath })).rejects.toThrow('A unit test may not start');
  });

  it('gets no Postgres', async () => {
    await expect(emptyDatabaseUrl()).rejects.toThrow('only integration tests have a Postgres');
  });
});
