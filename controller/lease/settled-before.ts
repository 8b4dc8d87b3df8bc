import type { Clock } from '../../time/clock.ts';

/** The promise's value, or undefined when `deadlineMs` (by the clock) came first; the promise goes on. */
export async function settledBefore<T>(deadlineMs: number, promise: Promise<T>, clock: Clock): Promise<T | undefined> {
  const timer = new AbortController();
  const late = clock.sleep(Math.max(0, deadlineMs - clock.nowMs()), timer.signal, true).then(() => undefined);
  try {
    return await Promise.race([promise, late]);
  } finally {
    timer.abort();
  }
}
