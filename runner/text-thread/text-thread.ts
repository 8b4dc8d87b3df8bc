import { once } from 'node:events';
import { extname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { Answer, JobInput, JobName, JobOutput, Order } from './jobs.ts';

/** A thread beside the runner's own, for work whose time pages and agents decide. Its jobs run one after the other. */
export interface TextThread {
  /** Rejects with a `TextTimeout` when the job takes too long, and when `signal` aborts: the job ends then. */
  run<Name extends JobName>(name: Name, input: JobInput<Name>, signal?: AbortSignal): Promise<JobOutput<Name>>;
}

export class TextTimeout extends Error {
  readonly seconds: number;

  constructor(seconds: number) {
    super(`The text was given up after ${seconds} s.`);
    this.seconds = seconds;
  }
}

const WORKER = new URL(`./text-thread.worker${extname(import.meta.url)}`, import.meta.url);
/** Its strings; what a page sends is bounded before. */
const HEAP_MB = 512;
const START_MS = 20_000;
/** An idle thread keeps some 10 MB. */
const IDLE_MS = 30_000;

/** The thread starts with its first job, and again after one that was given up. */
export function textThread({ seconds }: { readonly seconds: number }): TextThread {
  let worker: Worker | undefined;
  let last: Promise<unknown> = Promise.resolve();
  let idle: NodeJS.Timeout | undefined;

  /** Resolves when it takes jobs: on a busy machine that may take longer than a job. */
  async function start(): Promise<Worker> {
    const started = new Worker(WORKER, {
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
      env: {},
      execArgv: [],
    });
    started.unref();
    // Its job has rejected by then; without a listener the error would end the runner.
    started.on('error', () => undefined);
    try {
      await once(started, 'message', { signal: AbortSignal.timeout(START_MS) });
      return started;
    } catch (error) {
      void started.terminate();
      throw error;
    }
  }

  function end(): void {
    void worker?.terminate();
    worker = undefined;
  }

  async function run(order: Order, signal: AbortSignal | undefined): Promise<unknown> {
    signal?.throwIfAborted();
    clearTimeout(idle);
    worker ??= await start();
    signal?.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const over = new AbortController();
    const onAbort = () => reject(signal?.reason);
    const onExit = (code: number) => reject(new Error(`the thread for texts ended with ${code}`));
    signal?.addEventListener('abort', onAbort, { signal: over.signal });
    delay(seconds * 1_000, undefined, { signal: over.signal }).then(
      () => reject(new TextTimeout(seconds)),
      () => undefined,
    );
    worker.once('message', resolve).once('error', reject).once('exit', onExit);
    try {
      worker.postMessage(order);
      const answer = await promise;
      if ('error' in answer) throw new Error(answer.error);
      worker.off('error', reject).off('exit', onExit);
      idle = setTimeout(end, IDLE_MS).unref();
      return answer.output;
    } catch (error) {
      end();
      throw error;
    } finally {
      over.abort();
    }
  }

  return {
    run<Name extends JobName>(name: Name, input: JobInput<Name>, signal?: AbortSignal) {
      const mine = last.then(() => run({ name, input }, signal));
      last = mine.catch(() => undefined);
      return mine as Promise<JobOutput<Name>>; // the thread runs the job of this name
    },
  };
}
