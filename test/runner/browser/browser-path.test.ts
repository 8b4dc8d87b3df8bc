import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { browserPath } from '../../../runner/browser/browser-path.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'omicron-test-path-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const executable = (...parts: string[]): string => {
  const path = join(folder, ...parts);
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, '#!/bin/sh\n');
  chmodSync(path, 0o755);
  return path;
};
const none: string[] = [];
const nothing = () => '';

test('a configured browser wins, and must exist', () => {
  const asked = executable('mine');
  expect(browserPath(asked, '', nothing)).toBe(asked);
  expect(() => browserPath(join(folder, 'missing'), '', nothing)).toThrow(/OMICRON_CHROMIUM names .*missing/);
});

test('the headless shell is preferred to chromium, what is installed to what Playwright brings', () => {
  const chromium = executable('bin', 'chromium');
  expect(browserPath(undefined, join(folder, 'bin'), nothing, none)).toBe(chromium);
  const shell = executable('bin', 'chromium-headless-shell');
  expect(browserPath(undefined, join(folder, 'bin'), nothing, none)).toBe(shell);
});

test("Playwright's own headless shell is found beside its chromium", () => {
  const playwright = executable('ms', 'chromium-1234', 'chrome-linux64', 'chrome');
  expect(browserPath(undefined, '', () => playwright, none)).toBe(playwright);
  const shell = executable(
    'ms',
    'chromium_headless_shell-1234',
    'chrome-headless-shell-linux64',
    'chrome-headless-shell',
  );
  expect(browserPath(undefined, '', () => playwright, none)).toBe(shell);
});

test('with no browser the error names the three ways to get one', () => {
  expect(() => browserPath(undefined, folder, () => join(folder, 'nothing'), none)).toThrow(
    /OMICRON_CHROMIUM.*playwright-core install.*apt install chromium-headless-shell/s,
  );
});
