import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { commandPath } from '../runner/browser/browser-path.ts';
import { installTools } from './install-tools.ts';
import { findTools, toolsEnvironment } from './machine-tools.ts';

// Entry of the setup's second half: finds or installs browser and ffmpeg, and prints the environment that names them.

const run = (command: string, args: string[]) =>
  spawnSync(command, args, {
    stdio: ['ignore', 2, 2],
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  }).status === 0;
const playwright = fileURLToPath(new URL('cli.js', import.meta.resolve('playwright-core/package.json')));

try {
  const tools = installTools({
    find: () => findTools(process.env),
    starts: browser => spawnSync(browser, ['--version'], { stdio: 'ignore', timeout: 20_000 }).status === 0,
    run,
    playwright: args => run(process.execPath, [playwright, ...args]),
    mayApt: process.getuid?.() === 0 && commandPath('apt-get', process.env.PATH ?? '') !== undefined,
    say: line => process.stderr.write(`${line}\n`),
  });
  process.stdout.write(JSON.stringify(toolsEnvironment(tools)));
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  process.exit(1);
}
