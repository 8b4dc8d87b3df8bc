#!/usr/bin/env node
// The command `omicron-browser`: hands over to Node 24, whatever node the shell has. In a clone it runs the TypeScript as it
// is; Node does not do that inside node_modules, so a published package brings it as JavaScript in dist/.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const main = [join(here, 'main.ts'), join(here, 'dist', 'cli', 'main.js')].find(existsSync);

if (main === undefined) {
  process.stderr.write('This copy of omicron-browser is not whole; install it again.\n');
  process.exit(1);
}
if (Number(process.versions.node.split('.')[0]) >= 24) {
  await import(main);
} else {
  let node24;
  try {
    node24 = join(dirname(createRequire(import.meta.url).resolve('node/package.json')), 'bin', 'node');
  } catch {
    process.stderr.write('Node 24 is needed: run "npm ci" here, or use a newer node.\n');
    process.exit(1);
  }
  const child = spawn(node24, [main, ...process.argv.slice(2)], { stdio: 'inherit' });
  child.on('error', error => {
    process.stderr.write(
      `Node 24 could not be started (${error.message}): run "npm ci" with install scripts allowed.\n`,
    );
    process.exitCode = 1;
  });
  // a terminal's Ctrl-C reaches the child by itself; it says when all has ended
  process.on('SIGINT', () => {});
  for (const name of ['SIGTERM', 'SIGHUP']) process.on(name, () => child.kill(name));
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? (signal === 'SIGINT' ? 130 : 1);
  });
}
