// A thread for texts and patterns that pages and agents choose: one may be made to take minutes, and the runner's own thread serves the lease.
import { parentPort } from 'node:worker_threads';
import { type Answer, JOBS, type Order } from './jobs.ts';

parentPort?.on('message', ({ name, input }: Order) => {
  try {
    // The input is of this job: `textThread` takes no other.
    const output = (JOBS[name] as (input: unknown) => unknown)(input);
    parentPort?.postMessage({ output } satisfies Answer);
  } catch (error) {
    parentPort?.postMessage({ error: error instanceof Error ? error.message : String(error) } satisfies Answer);
  }
});

parentPort?.postMessage({ output: 'ready' } satisfies Answer);
