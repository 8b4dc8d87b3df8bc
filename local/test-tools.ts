import { join } from 'node:path';
import { commandPath } from '../runner/browser/browser-path.ts';

/** Programs that only tests use: a connection pooler, the rule tester of Prometheus, and a server that speaks S3 and STS. */
export const TEST_TOOLS = {
  pgbouncer: { debian: 'pgbouncer' },
  promtool: { debian: 'prometheus' },
  moto_server: { pip: 'moto[server]==5.2.1', debian: 'python3-venv' },
} as const;

export type TestTool = keyof typeof TEST_TOOLS;

/** A Python environment of the repository, for `moto_server`. */
export const VENV = join('.omicron', 'moto');

/** What installing touches; a test gives its own. */
export interface TestMachine {
  /** Tools that are not there. */
  missing(): TestTool[];
  /** Runs a command to its end. False: it failed. */
  run(command: string, args: string[]): boolean;
  /** Whether apt-get is here and this user may use it. */
  mayApt: boolean;
  say(line: string): void;
}

/** Finds or installs the tools. Throws an Error that names the ways to get what is missing. */
export function installTestTools({ missing, run, mayApt, say }: TestMachine): void {
  const apt = (names: string[]) =>
    mayApt && run('apt-get', ['update']) && run('apt-get', ['install', '-y', '--no-install-recommends', ...names]);
  const pip = (name: string) =>
    run('python3', ['-m', 'venv', VENV]) && run(join(VENV, 'bin', 'pip'), ['install', '--quiet', name]);

  const wanted = missing();
  if (wanted.length === 0) return;
  say(`Installing what the tests need: ${wanted.join(', ')} ...`);
  const debian = wanted.filter(tool => tool !== 'moto_server').map(tool => TEST_TOOLS[tool].debian);
  if (debian.length > 0) apt(debian);
  const { pip: moto, debian: venv } = TEST_TOOLS.moto_server;
  // Debian's Python comes without the module that makes environments
  if (wanted.includes('moto_server') && !pip(moto) && apt([venv])) pip(moto);

  const left = missing();
  if (left.length > 0) throw new Error(ways(left));
}

const ways = (missing: TestTool[]) =>
  `The tests need ${missing.join(', ')}. Do one of these and try again:
  1. Debian or Ubuntu, as root:  apt-get install ${missing.map(tool => TEST_TOOLS[tool].debian).join(' ')}
  2. put them on the PATH${missing.includes('moto_server') ? ` (moto_server: pip install '${TEST_TOOLS.moto_server.pip}')` : ''}
  3. run only the tests that need none of them:  npm run test:unit`;

/** The PATH on which tests find the tools: Debian keeps pgbouncer in /usr/sbin. */
export const testPath = (root: string, path: string): string => [join(root, VENV, 'bin'), path, '/usr/sbin'].join(':');

/** Tools that the PATH does not have. A version manager leaves commands on it that do not start. */
export const missingTestTools = (path: string, starts: (program: string) => boolean): TestTool[] =>
  (Object.keys(TEST_TOOLS) as TestTool[]).filter(tool => {
    const program = commandPath(tool, path);
    return program === undefined || !starts(program);
  });
