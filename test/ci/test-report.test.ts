import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';

/** Runs vitest with the report of this repository on files of its own. */
function runVitest(files: Record<string, string>) {
  mkdirSync('.omicron', { recursive: true });
  // inside the checkout, so that the files find vitest
  const root = mkdtempSync(resolve('.omicron', 'test-report-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  for (const [name, code] of Object.entries(files))
    writeFileSync(join(root, name), `import { expect, it } from 'vitest';\n${code}`);
  const { status, stdout } = spawnSync(
    process.execPath,
    [
      resolve('node_modules/vitest/vitest.mjs'),
      'run',
      '--root',
      root,
      '--reporter',
      resolve('test/setup/test-report.ts'),
    ],
    { encoding: 'utf8', cwd: root, env: { ...process.env, NO_COLOR: '1' } },
  );
  return { status, stdout, report: JSON.parse(readFileSync(join(root, '.omicron', 'tests.json'), 'utf8')) };
}

it('names the files that run and how many are left, then the slowest ones and how to run everything', () => {
  const { status, stdout, report } = runVitest({
    'good.test.ts': "it('adds', () => expect(1 + 1).toBe(2)); it('subtracts', () => expect(1 - 1).toBe(0));",
    'bad.test.ts': "it('divides', () => expect(1 / 0).toBe(0));",
    'broken.test.ts': "throw new Error('does not load');",
  });
  expect(status).toBe(1);
  expect(stdout).toMatch(/running (good|bad|broken)\.test\.ts; 2 of 3 files left/);
  expect(stdout).toMatch(/Slowest files:\n(\s+[\d.]+ s {2}(good|bad|broken)\.test\.ts\n){3}/);
  expect(stdout).toContain('npm run test:all');
  expect(report).toEqual({
    seconds: expect.any(Number),
    passed: 2,
    failed: 2,
    slowest: expect.arrayContaining([{ file: 'good.test.ts', seconds: expect.any(Number) }]),
  });
  expect(report.slowest).toHaveLength(3);
});
