#!/usr/bin/env node
// The command `omicron-browser`. In a clone it runs the TypeScript as it is, on the Node.js of node_modules where the shell's
// is too old. Node.js runs no TypeScript inside node_modules, so the published package brings JavaScript in dist/.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const isClone = existsSync(join(here, 'main.ts'));
const main = isClone ? join(here, 'main.ts') : join(here, 'dist', 'cli', 'main.js');
const { engines } = JSON.parse(readFileSync(join(here, 'package.json'), 'utf8'));
const needed = Number(engines.node.replace('>=', ''));

if (Number(process.versions.node.split('.')[0]) >= needed) {
  await import(main);
} else if (isClone) {
  const node = join(here, '..', 'node_modules', 'node', 'bin', 'node');
  if (existsSync(node)) handOver(node);
  else fail('run "npm start" or "npm ci" here, which installs it');
} else {
  fail(`install it (https://nodejs.org/en/download, or "nvm install ${needed}") and run the command again`);
}

function fail(remedy) {
  process.stderr.write(
    `omicron-browser needs Node.js ${needed} or newer, but this is ${process.versions.node}: ${remedy}.\n`,
  );
  process.exitCode = 1;
}

function handOver(node) {
  const child = spawn(node, [main, ...process.argv.slice(2)], { stdio: 'inherit' });
  child.on('error', error => fail(`${node} could not be started (${error.message}); run "npm ci" here`));
  // Ctrl-C in a terminal reaches the child directly; it decides when to exit
  process.on('SIGINT', () => {});
  for (const name of ['SIGTERM', 'SIGHUP']) process.on(name, () => child.kill(name));
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? (signal === 'SIGINT' ? 130 : 1);
  });
}
