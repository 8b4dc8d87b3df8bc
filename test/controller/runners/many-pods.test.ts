import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';

const PODS = 5_000;
/** Far below what Node.js takes of the controller's 512Mi: 5,000 whole pods are 170 MB of heap. */
const HEAP_MIB = 96;

const program = (file: string, args: string[], execArgv: string[] = []) => {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), args, { execArgv });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
};

it('a controller starts and lists again with 5,000 pods in a small heap, page by page', async () => {
  const [port] = await once(program('many-pods-api.ts', [String(PODS)]), 'message');
  const provider = program('many-pods.ts', [String(port)], [`--max-old-space-size=${HEAP_MIB}`]);
  const [told] = await Promise.race([once(provider, 'message'), once(provider, 'exit')]);
  expect(told).toMatchObject({ first: PODS, second: PODS });
  console.info(JSON.stringify(told));
  const counts = await (await fetch(`http://127.0.0.1:${port}/counts`)).json();
  expect(counts).toEqual({ pages: (2 * PODS) / 100, largest: 100, changes: 0 });
});
