import type { Clock } from '../../time/clock.ts';

/**
 * A clock that a test steps. Callers' waits pass at once and are recorded; idle waits pass when the test advances beyond them.
 */
export interface SteppedClock extends Clock {
  /** Waits of callers, in order. */
  readonly waitedMs: number[];
  /** Milliseconds until the idle waits that are going on now are over. */
  idleMs(): number[];
  advance(ms: number): void;
}

export function steppedClock(random = 0): SteppedClock {
  let now = 1_000;
  const waitedMs: number[] = [];
  const idle = new Set<{ atMs: number; wake: () => void }>();
  return {
    waitedMs,
    nowMs: () => now,
    random: () => random,
    idleMs: () => [...idle].map(({ atMs }) => atMs - now),
    advance(ms) {
      now += ms;
      for (const wait of [...idle]) if (wait.atMs <= now) wait.wake();
    },
    async sleep(ms, signal, isIdle = false) {
      signal.throwIfAborted();
      if (!isIdle) {
        waitedMs.push(ms);
        now += ms;
        return;
      }
      await new Promise<void>((resolve, reject) => {
        const wait = { atMs: now + ms, wake: resolve };
        idle.add(wait);
        const stop = () => {
          idle.delete(wait);
          reject(signal.reason);
        };
        signal.addEventListener('abort', stop, { once: true });
        wait.wake = () => {
          signal.removeEventListener('abort', stop);
          idle.delete(wait);
          resolve();
        };
      });
    },
  };
}
