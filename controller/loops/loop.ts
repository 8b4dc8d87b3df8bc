import type { Logger } from 'pino';
import type { Clock } from '../../time/clock.ts';
import type { Wake } from '../wake.ts';

/** Something that is done again and again: at an interval, and at once when woken. */
export interface Loop {
  start(): void;
  /** Resolves when the work has ended. */
  stop(): Promise<void>;
}

export interface LoopOptions {
  name: string;
  everyMs: number;
  /** Runs it soon; a kick during a run means one more run. */
  wake: Wake;
  /** Time from the end of a run to the next one at least, however often it is woken. */
  restMs?: number;
  /** Harmless when repeated; what it throws is logged, and it runs again at the next interval. */
  runOnce: () => Promise<void>;
  clock: Clock;
  log: Logger;
}

export function loop({ name, everyMs, wake, restMs = 0, runOnce, clock, log }: LoopOptions): Loop {
  let stopped = new AbortController();
  let running: Promise<void> | undefined;

  const run = async () => {
    while (!stopped.signal.aborted) {
      const seen = wake.kicks;
      try {
        await runOnce();
      } catch (error) {
        log.error({ err: error, loop: name }, 'loop failed; continuing');
      }
      if (restMs > 0) await clock.sleep(restMs, stopped.signal, true).catch(() => {});
      // replicas that started together must not keep step
      await wake.wait(seen, everyMs * (0.9 + clock.random() / 5), clock, stopped.signal);
    }
  };

  return {
    start() {
      if (running) return;
      stopped = new AbortController();
      running = run();
    },
    async stop() {
      stopped.abort();
      await running;
      running = undefined;
    },
  };
}
