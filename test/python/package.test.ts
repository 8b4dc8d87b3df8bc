import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ENV } from '../../contract/names.ts';
import { pythonOf } from '../../local/test-tools.ts';
import { newFolder, ROOT, run } from '../local/machine.ts';
import { type SiteStack, startSiteStack } from '../local/site-stack.ts';

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

  it('has the reference that `npm run docs` writes', async () => {
    expect(said(await python(['reference', '--check']))).toBe('');
  });

  it('is clean for ruff and mypy --strict', async () => {
    const sources = ['.', join(ROOT, 'examples')];
    expect(said(await python(['ruff', 'check', '--no-cache', ...sources]))).toBe('');
    expect(said(await python(['ruff', 'format', '--no-cache', '--check', ...sources]))).toBe('');
    // Kept between runs: mypy looks at what a file holds before it trusts what it knows of it. MYPYPATH: the sources, no installed copy.
    const cache = join(ROOT, '.omicron', 'mypy');
    expect(said(await python(['mypy', '--cache-dir', cache], { MYPYPATH: join(PACKAGE, 'src') }))).toBe('');
  });

  describe('as a wheel', () => {
    let on: SiteStack;
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
      // a test hibernates a session by asking for another one of its user
      const settings = { [ENV.userLimit]: '1', [ENV.onUserLimit]: 'evict_oldest' };
      on = await startSiteStack(() => ({ settings }));
    }, 120_000);
    afterAll(() => on?.[Symbol.asyncDispose]());

    it('holds its licence, links and version', async () => {
      const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
      const about = join(installed, `omicron_browser-${version}.dist-info`);
      expect(await readdir(join(about, 'licenses'))).toEqual(['LICENSE']);
      const metadata = await readFile(join(about, 'METADATA'), 'utf8');
      for (const field of ['License-Expression: Apache-2.0', 'Keywords: ', 'Project-URL: Documentation', 'httpx<1,>='])
        expect(metadata).toContain(field);
      const program = 'import omicron_browser; print(omicron_browser.__version__)';
      const { stdout } = await run(PYTHON, ['-c', program], { env: { PYTHONPATH: installed } });
      expect(stdout.trim()).toBe(version);
    });

    it('holds its types, and works on a stack: the tests of clients/python', async ({ task }) => {
      expect(await readdir(join(installed, 'omicron_browser'))).toContain('py.typed');
      const env = {
        PYTHONPATH: installed,
        [ENV.controllerUrl]: on.stack.url,
        [ENV.serviceSecret]: on.stack.serviceSecret,
        TEST_SITE_URL: on.site.url,
      };
      const pytest = (...what: string[]) => python(['pytest', '-q', '-p', 'no:cacheprovider', ...what], env);
      // Beside the others, because they wait for leases to expire.
      const results = await Promise.all([pytest('tests/test_lease.py'), pytest('--ignore=tests/test_lease.py')]);
      const count = (outcome: string) =>
        results.reduce((sum, { stdout }) => sum + Number(new RegExp(`(\\d+) ${outcome}`).exec(stdout)?.[1] ?? 0), 0);
      task.meta.ran = { passed: count('passed'), failed: count('failed') + count('error') };
      expect(results.map(said)).toEqual(['', '']);
      expect(task.meta.ran.passed).toBeGreaterThan(20);
      for (const { stdout } of results) expect(stdout).not.toMatch(/skipped|xfailed|deselected/);
    });
  });
});
