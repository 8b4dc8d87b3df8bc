import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';

/** Something that is done again and again: at an interval, and at once when kicked. */
export interface Loop {
  start(): void;
  /** Runs soon; a kick during a run means one more run. */
  kick(): void;
  /** Resolves when the work has ended. */
  stop(): Promise<void>;
}

/** `runOnce` must be harmless when repeated; what it throws is logged and tried again at the next interval. */
export function loop(options: { name: string; everyMs: number; runOnce: () => Promise<void>; log: Logger }): Loop {
  const { name, everyMs, runOnce, log } = options;
  let stopped = new AbortController();
  let wake = new AbortController();
  let running: Promise<void> | undefined;

  const run = async () => {
    while (!stopped.signal.aborted) {
      wake = new AbortController();
      try {
        await runOnce();
      } catch (error) {
        log.error({ err: error, loop: name }, 'a loop failed; it goes on');
      }
      // replicas that started together must not keep step
      const pause = everyMs * (0.9 + Math.random() / 5);
      await sleep(pause, undefined, { signal: AbortSignal.any([stopped.signal, wake.signal]) }).catch(() => {});
    }
  };

  return {
    start() {
      if (running) return;
      stopped = new AbortController();
      running = run();
    },
    kick: () => wake.abort(),
    async stop() {
      stopped.abort();
      await running;
      running = undefined;
    },
  };
}
