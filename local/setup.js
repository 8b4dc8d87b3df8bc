// Makes a clone ready and hands over to Node 24: `node local/setup.js [--for <work>] [<file> [arguments]]`. Runs on any Node.js
// from 20 on and needs no package, because it is what installs them.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * How Node.js is started for the local stack. Creating a database takes a gigabyte for a moment, in small pieces that V8 and glibc would
 * keep: docs/adr/0054-measured-decisions.md#the-local-stack-gives-back-what-its-start-took-0061.
 */
const STACK_PROCESS = {
  flags: ['--max-semi-space-size=4', '--v8-pool-size=1'],
  environment: { MALLOC_ARENA_MAX: '2', MALLOC_MMAP_THRESHOLD_: '16384', MALLOC_TRIM_THRESHOLD_: '131072' },
};

/**
 * Needs of each kind of work: packages of some workspaces (unless named: of all), programs of the machine, and how
 * Node.js is started.
 */
const WORK = {
  stack: { workspaces: ['cli', 'local'], tools: ['browser'], ...STACK_PROCESS },
  check: { tools: [] },
  tests: { tools: ['browser', 'tests'] },
  all: { tools: ['browser'] },
};
/** A workspace that only a whole installation holds. */
const WHOLE = 'test';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const bin = join(root, 'node_modules', '.bin');
const node24 = join(root, 'node_modules', 'node', 'bin', 'node');

const given = process.argv.slice(2);
const work = WORK[given[0] === '--for' ? given.splice(0, 2)[1] : 'all'];
const [entry, ...args] = given;

/** @returns {Record<string, { version?: string, optional?: boolean }>} */
const packagesOf = file => {
  try {
    return JSON.parse(readFileSync(join(root, file), 'utf8')).packages;
  } catch {
    return {};
  }
};

/** Runs to its end; its output goes to stderr, so that stdout stays the command's own. */
function run(command, args) {
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: ['inherit', 2, 2] });
  if (status === 0) return;
  fail(`${[command, ...args].join(' ')} failed${error ? `: ${error.message}` : ''}. Fix that and run it again.`);
}

function fail(reason) {
  process.stderr.write(`\n${reason}\n`);
  process.exit(1);
}

/** Installs the packages of package-lock.json that the work needs and node_modules does not hold. */
function installPackages() {
  const locked = packagesOf('package-lock.json');
  const installed = packagesOf('node_modules/.package-lock.json');
  // a whole installation stays whole
  const workspaces = installed[WHOLE] === undefined ? work.workspaces : undefined;
  const isLocked = ([path, { version }]) => locked[path]?.version === version && existsSync(join(root, path));
  const sound = existsSync(node24) && Object.entries(installed).every(isLocked);
  const complete = workspaces
    ? workspaces.every(path => JSON.stringify(installed[path]) === JSON.stringify(locked[path]))
    : // packages of other platforms may be missing
      Object.entries(locked).every(([path, { optional }]) => path === '' || optional || installed[path]);
  if (sound && complete) return;

  process.stderr.write(`Installing the npm packages of ${workspaces?.join(', ') ?? 'all workspaces'}, once ...\n`);
  // Files of a running stack are not touched where packages are only added; `npm ci` begins with an empty folder.
  const command = sound ? ['install', '--no-save'] : ['ci'];
  const npmArgs = [...command, ...(workspaces ?? []).map(path => `--workspace=${path}`), '--loglevel=error'];
  // under `npm run`, the npm that runs us
  const npm = process.env.npm_execpath;
  if (npm?.endsWith('.js')) run(process.execPath, [npm, ...npmArgs]);
  else run('npm', npmArgs);
  if (!existsSync(node24))
    fail('npm did not install Node 24: allow install scripts (no --ignore-scripts) and run it again.');
}

/** Finds or installs the programs that the work needs; answers the environment that names them. */
function installTools(env) {
  if (work.tools.length === 0) return {};
  const setup = [join(root, 'local', 'setup-tools.ts'), ...work.tools];
  const { status, stdout } = spawnSync(node24, setup, { stdio: ['inherit', 'pipe', 'inherit'], env });
  if (status !== 0) process.exit(status ?? 1);
  return JSON.parse(stdout.toString());
}

if (work === undefined) fail(`--for takes one of ${Object.keys(WORK).join(', ')}.`);
installPackages();
const { flags = [], environment = {} } = work;
const env = { ...process.env, ...environment, PATH: `${bin}:${process.env.PATH}` };
Object.assign(env, installTools(env));

if (entry !== undefined) {
  const child = spawn(node24, [...flags, join(root, entry), ...args], { stdio: 'inherit', env });
  // Ctrl-C in a terminal reaches the child directly; it decides when to exit
  process.on('SIGINT', () => {});
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? (signal === 'SIGINT' ? 130 : 1);
  });
}
