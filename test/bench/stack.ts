/**
 * Memory of the local stack: `npm run bench -- stack`. Starts it as `npm start` does, in an empty folder and again in the same one, and
 * reads what its process holds when idle. Writes the section `stack` of `.omicron/bench.json`.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { StackFolder } from '../../local/stack-folder.ts';
import { newFolder } from '../local/machine.ts';
import { machine, writeSections } from './figures.ts';
import { pssOf, rssOf } from './memory.ts';

const TARGETS = { rssMb: 300 };
/** By then its browser is warm, and V8 has given back what the start took. */
const IDLE_MS = 20_000;
const POLL_MS = 200;
const SETUP = join(import.meta.dirname, '../../local/setup.js');

async function idle(folder: string): Promise<{ rssMb: number; pssMb: number }> {
  const started = spawn(process.execPath, [SETUP, '--for', 'stack', 'cli/main.ts', '--folder', folder, 'up'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = once(started, 'exit');
  const stack = new StackFolder(folder);
  let running = await stack.running();
  while (running === null) {
    if (started.exitCode !== null) throw new Error(`the stack exited with ${started.exitCode}`);
    await delay(POLL_MS);
    running = await stack.running();
  }
  await delay(IDLE_MS);
  const { pid } = running;
  const held = { rssMb: rssOf(pid), pssMb: pssOf([pid]) };
  started.kill('SIGTERM');
  await ended;
  return held;
}

const folder = await newFolder();
try {
  const stack = { machine: machine(), first: await idle(folder), later: await idle(folder), targets: TARGETS };
  process.stdout.write(`${JSON.stringify(stack, null, 2)}\n`);
  process.stderr.write(`written to ${writeSections({ stack })}\n`);
} finally {
  await rm(folder, { recursive: true, force: true });
}
