import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { ENV } from '../../contract/names.ts';
import { pythonOf } from '../../local/test-tools.ts';
import { type Finished, newFolder, ROOT, run } from '../local/machine.ts';
import { type SiteStack, startSiteStack } from '../local/site-stack.ts';

export const PYTHON_PACKAGE = join(ROOT, 'clients', 'python');

/** Runs a module or a program in the folder of the package. */
export const python = (args: readonly string[], env: Record<string, string> = {}): Promise<Finished> =>
  run(pythonOf(ROOT, 'python_sdk'), [...args], {
    cwd: PYTHON_PACKAGE,
    env: { PYTHONDONTWRITEBYTECODE: '1', ...env },
  });

/** Everything that a program printed which failed. */
export const complaintOf = ({ code, stdout, stderr }: Finished) => (code === 0 ? '' : `${stdout}\n${stderr}`);

/** The Python package as its users have it, and a stack for its tests. */
export interface PythonWheel extends AsyncDisposable {
  /** A folder of packages that holds it alone. */
  readonly installed: string;
  /** Runs tests of the package, a process for each list of arguments, all at once; they pass, and none is left out. */
  pytest(...runs: readonly (readonly string[])[]): Promise<{ passed: number; failed: number; complaints: string[] }>;
}

export async function startPythonWheel(): Promise<PythonWheel> {
  await using started = new AsyncDisposableStack();
  const folder = await newFolder();
  started.defer(() => rm(folder, { recursive: true, force: true }));
  const installed = await install(folder);
  // A test hibernates a session by asking for another one of its user; others wait for leases to expire.
  const settings = { [ENV.userLimit]: '1', [ENV.onUserLimit]: 'evict_oldest', [ENV.reapSeconds]: '1' };
  const { stack, site }: SiteStack = started.use(await startSiteStack(() => ({ settings })));
  const env = {
    PYTHONPATH: installed,
    [ENV.controllerUrl]: stack.url,
    [ENV.serviceSecret]: stack.serviceSecret,
    TEST_SITE_URL: site.url,
  };
  const parts = started.move();
  return {
    installed,
    async pytest(...runs) {
      const results = await Promise.all(
        runs.map(args => python(['-m', 'pytest', '-q', '-p', 'no:cacheprovider', ...args], env)),
      );
      const count = (outcome: string) =>
        results.reduce((sum, { stdout }) => sum + Number(new RegExp(`(\\d+) ${outcome}`).exec(stdout)?.[1] ?? 0), 0);
      for (const { stdout } of results) expect(stdout).not.toMatch(/skipped|xfailed|deselected/);
      return {
        passed: count('passed'),
        failed: count('failed') + count('error'),
        complaints: results.map(complaintOf).filter(text => text !== ''),
      };
    },
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  };
}

async function install(folder: string): Promise<string> {
  const [wheels, installed] = [join(folder, 'wheels'), join(folder, 'installed')];
  await mkdir(wheels);
  const build = ['--no-deps', '--no-build-isolation', '--wheel-dir', wheels, PYTHON_PACKAGE];
  expect(complaintOf(await python(['-m', 'pip', 'wheel', '--quiet', ...build]))).toBe('');
  const [wheel = ''] = await readdir(wheels);
  expect(wheel).toMatch(/^omicron_browser-\d+\.\d+\.\d+-py3-none-any\.whl$/);
  const target = ['--no-deps', '--target', installed, join(wheels, wheel)];
  expect(complaintOf(await python(['-m', 'pip', 'install', '--quiet', ...target]))).toBe('');
  return installed;
}
