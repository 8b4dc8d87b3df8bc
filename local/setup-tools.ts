import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { commandPath } from '../runner/browser/browser-path.ts';
import { installTools } from './install-tools.ts';
import { findTools, toolsEnvironment } from './machine-tools.ts';
import { installTestTools, missingTestTools, testPath } from './test-tools.ts';

// Second half of the setup: finds or installs what its arguments name (`browser`: with ffmpeg; `tests`: what only tests use), and
// prints the environment in which they are found.

const root = fileURLToPath(new URL('..', import.meta.url));
const path = process.env.PATH ?? '';
const run = (command: string, args: string[]) =>
  spawnSync(command, args, {
    cwd: root,
    stdio: ['ignore', 2, 2],
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  }).status === 0;
const canStart = (program: string, ...args: string[]) =>
  spawnSync(program, args, { stdio: 'ignore', timeout: 20_000 }).status === 0;
const mayApt = process.getuid?.() === 0 && commandPath('apt-get', path) !== undefined;
const say = (line: string) => process.stderr.write(`${line}\n`);

const installBrowser = (): Record<string, string> => {
  const playwright = fileURLToPath(new URL('cli.js', import.meta.resolve('playwright-core/package.json')));
  const tools = installTools({
    find: () => findTools(process.env),
    starts: browser => canStart(browser, '--version'),
    run,
    playwright: args => run(process.execPath, [playwright, ...args]),
    mayApt,
    say,
  });
  return toolsEnvironment(tools);
};

const installForTests = (): Record<string, string> => {
  const PATH = testPath(root, path);
  installTestTools({ missing: () => missingTestTools(root, PATH, canStart), run, mayApt, say });
  return { PATH };
};

try {
  const wanted = process.argv.slice(2);
  const environment = {
    ...(wanted.includes('browser') ? installBrowser() : {}),
    ...(wanted.includes('tests') ? installForTests() : {}),
  };
  process.stdout.write(JSON.stringify(environment));
} catch (error) {
  say(error instanceof Error ? error.message : String(error));
  process.exit(1);
}
