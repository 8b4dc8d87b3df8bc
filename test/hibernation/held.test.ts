import { rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { BrowserSessions } from '../../client/browser-sessions.ts';
import { ENV } from '../../contract/names.ts';
import { connectMcpBrowser } from '../../local/mcp-browser.ts';
import { type Stack, startStack } from '../../local/stack.ts';
import { ENVIRONMENTS } from '../../manifests/environments.ts';
import { renderControllerSettings } from '../../manifests/parts/configuration.ts';
import { eventually } from '../eventually.ts';
import { newFolder, shell } from '../local/machine.ts';
import { migratedDatabaseUrl } from '../postgres.ts';

const TTL_SECONDS = 6;
const FORM = '<!doctype html><title>Order</title><form><input name="note" aria-label="Note"></form>';

/** The rules of production about leases, except times: those of this test are shorter. */
const SETTINGS = [ENV.hibernate, ENV.hibernatedHours, ENV.userLimit, ENV.onUserLimit, ENV.capacity] as const;

let folder: string;
let stack: Stack;
let sessions: BrowserSessions;
const site = createServer((_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end(FORM));
beforeAll(async () => {
  folder = await newFolder();
  await new Promise<void>(done => site.listen(0, '127.0.0.1', done));
  const production = renderControllerSettings(ENVIRONMENTS.prod);
  const settings = Object.fromEntries(SETTINGS.flatMap(name => (production[name] ? [[name, production[name]]] : [])));
  const runnerEnv = { ...shell(), [ENV.freezeSeconds]: '1' };
  const log = pino({ level: 'silent' });
  stack = await startStack({
    ...{ folder, databaseUrl: await migratedDatabaseUrl(), log, egress: 'off', poolIdle: 1, runnerEnv },
    settings: { ...settings, [ENV.reapSeconds]: '0.2' },
  });
  sessions = new BrowserSessions(stack);
});
afterAll(async () => {
  await stack.stop();
  site.close();
  await rm(folder, { recursive: true, force: true });
});

it('[E1] a client that was handed the address finds its half-typed form while the lease is held, and nothing after its time to live', async () => {
  const { port } = site.address() as AddressInfo; // it listens on TCP
  const lease = await sessions.acquire({
    ...{ userId: 'ada', conversationId: 'form', recordVideo: false, ttlSeconds: TTL_SECONDS },
  });
  const { sessionId, mcpUrl, headers } = lease;
  const kinds = async () => (await sessions.listEvents(sessionId, { limit: 200 })).events.map(({ kind }) => kind);
  const first = lease.expiresAt.getTime();
  // as another MCP client has it: the address and the headers, no SDK
  await using browser = await connectMcpBrowser({ mcpUrl, headers });
  await browser.goto(`http://127.0.0.1:${port}/`);
  await browser.call('browser_type', { target: 'input[name=note]', element: 'Note', text: 'half-ty' });
  await eventually('two lives to pass', async () => lease.expiresAt.getTime() - first > 2_000 * TTL_SECONDS);
  expect(await browser.evaluate("() => document.querySelector('[name=note]').value")).toBe('half-ty');
  expect(await sessions.get(sessionId)).toMatchObject({ status: 'ready', epoch: 1, released_at: null });
  expect(await kinds()).not.toContain('browser.frozen');

  await lease.release();
  expect((await sessions.get(sessionId)).released_at).not.toBeNull();
  await eventually('the end', async () => (await sessions.get(sessionId)).status === 'ended');
  expect(await sessions.get(sessionId)).toMatchObject({ ended_reason: 'expired' });
  expect(await kinds()).toContain('browser.frozen');
  expect(await kinds()).not.toContain('session.hibernated');
});
