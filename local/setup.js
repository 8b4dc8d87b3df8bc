// Makes a clone ready and hands over to Node 24: `node local/setup.js <file> [arguments]`. Runs on any Node from 20 on and
// needs no package, because it is what installs them.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const node24 = join(root, 'node_modules', 'node', 'bin', 'node');

/** @returns {Record<string, { version?: string, optional?: boolean }>} */
const packagesOf = file => {
  try {
    return JSON.parse(readFileSync(join(root, file), 'utf8')).packages;
  } catch {
    return {};
  }
};

/** Whether node_modules holds what package-lock.json says; packages of other platforms may be missing. */
function isInstalled() {
  if (!existsSync(node24)) return false;
  const installed = packagesOf('node_modules/.package-lock.json');
  return Object.entries(packagesOf('package-lock.json')).every(
    ([path, { version, optional }]) =>
      path === '' ||
      (installed[path]?.version === version && existsSync(join(root, path))) ||
      (optional && installed[path] === undefined),
  );
}

/** Runs to its end; its output goes to stderr, so that stdout stays the command's own. */
function run(command, args) {
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: ['inherit', 2, 2] });
  if (status === 0) return;
  process.stderr.write(
    `\n${[command, ...args].join(' ')} failed${error ? `: ${error.message}` : ''}; mend that and try again.\n`,
  );
  process.exit(1);
}

if (!isInstalled()) {
  process.stderr.write('Installing the npm packages (a minute or two, once) ...\n');
  // under `npm run`, the npm that runs us
  const npm = process.env.npm_execpath;
  if (npm?.endsWith('.js')) run(process.execPath, [npm, 'ci']);
  else run('npm', ['ci']);
  if (!existsSync(node24)) {
    process.stderr.write(
      'npm did not install Node 24: allow install scripts (no --ignore-scripts) and run "npm ci" again.\n',
    );
    process.exit(1);
  }
}

const tools = spawnSync(node24, [join(root, 'local', 'setup-tools.ts')], { stdio: ['inherit', 'pipe', 'inherit'] });
if (tools.status !== 0) process.exit(tools.status ?? 1);

const [entry, ...args] = process.argv.slice(2);
if (entry === undefined) {
  process.stderr.write('Ready.\n');
} else {
  const child = spawn(node24, [join(root, entry), ...args], {
    stdio: 'inherit',
    env: {
      ...process.env,
      PATH: `${join(root, 'node_modules', '.bin')}:${process.env.PATH}`,
      ...JSON.parse(tools.stdout.toString()),
    },
  });
  // a terminal's Ctrl-C reaches the child by itself; it says when all has ended
  process.on('SIGINT', () => {});
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? (signal === 'SIGINT' ? 130 : 1);
  });
}
