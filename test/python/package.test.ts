import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BrowserSessions } from '../../client/browser-sessions.ts';
import { ENV } from '../../contract/names.ts';
import { type DemoSite, startDemoSite } from '../../local/demo-site.ts';
import { type Stack, startStack } from '../../local/stack.ts';
import { pythonOf } from '../../local/test-tools.ts';
import { newFolder, ROOT, run, shell } from '../local/machine.ts';

const PACKAGE = join(ROOT, 'clients', 'python');
const PYTHON = pythonOf(ROOT, 'python_sdk');

// a stack, a wheel, and the package's own tests with leases that expire
describe('the Python package', { timeout: 180_000 }, () => {
  let folder: string;
  beforeAll(async () => {
    folder = await newFolder();
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const python = (args: string[], env: Record<string, string> = {}) =>
    run(PYTHON, ['-m', ...args], { cwd: PACKAGE, env: { PYTHONDONTWRITEBYTECODE: '1', ...env } });
  const said = ({ code, stdout, stderr }: { code: number | null; stdout: string; stderr: string }) =>
    code === 0 ? '' : `${stdout}\n${stderr}`;

  it('holds what generate.py writes', async () => {
    expect(said(await python(['generate', '--check']))).toBe('');
  });

  it('is clean for ruff and mypy --strict', async () => {
    const sources = ['.', join(ROOT, 'examples')];
    expect(said(await python(['ruff', 'check', '--no-cache', ...sources]))).toBe('');
    expect(said(await python(['ruff', 'format', '--no-cache', '--check', ...sources]))).toBe('');
    const cache = join(folder, 'mypy');
    // of the sources, not of an installed copy
    expect(said(await python(['mypy', '--cache-dir', cache], { MYPYPATH: join(PACKAGE, 'src') }))).toBe('');
  });

  describe('as a wheel', () => {
    let site: DemoSite;
    let stack: Stack;
    let installed: string;
    beforeAll(async () => {
      const wheels = join(folder, 'wheels');
      installed = join(folder, 'installed');
      await mkdir(wheels);
      const build = ['--no-deps', '--no-build-isolation', '--wheel-dir', wheels, PACKAGE];
      expect(said(await python(['pip', 'wheel', '--quiet', ...build]))).toBe('');
      const [wheel = ''] = await readdir(wheels);
      expect(wheel).toMatch(/^omicron_browser-\d+\.\d+\.\d+-py3-none-any\.whl$/);
      const target = ['--no-deps', '--target', installed, join(wheels, wheel)];
      expect(said(await python(['pip', 'install', '--quiet', ...target]))).toBe('');
      site = await startDemoSite();
      stack = await startStack({
        folder: join(folder, 'stack'),
        log: pino({ level: 'silent' }),
        egress: { allowedCidrs: [`${new URL(site.url).hostname}/32`] },
        // a test hibernates a session by asking for another one of its user
        settings: { [ENV.hibernateSeconds]: '3600', [ENV.userLimit]: '1', [ENV.onUserLimit]: 'evict_oldest' },
        runnerEnv: shell(),
      });
      const ports = [Number(new URL(site.url).port)];
      await new BrowserSessions(stack).putPolicy({}, { version: 1, sites: { ports } });
    }, 120_000);
    afterAll(async () => {
      await stack?.stop();
      await site?.close();
    });

    it('holds its types, and works on a stack: the tests of clients/python', async ({ task }) => {
      expect(await readdir(join(installed, 'omicron_browser'))).toContain('py.typed');
      const result = await python(['pytest', '-q', '-p', 'no:cacheprovider'], {
        PYTHONPATH: installed,
        [ENV.controllerUrl]: stack.url,
        [ENV.serviceSecret]: stack.serviceSecret,
        TEST_SITE_URL: site.url,
      });
      const count = (outcome: string) => Number(new RegExp(`(\\d+) ${outcome}`).exec(result.stdout)?.[1] ?? 0);
      task.meta.ran = { passed: count('passed'), failed: count('failed') + count('error') };
      expect(said(result)).toBe('');
      expect(task.meta.ran.passed).toBeGreaterThan(20);
      expect(result.stdout).not.toMatch(/skipped|xfailed|deselected/);
    });
  });
});
