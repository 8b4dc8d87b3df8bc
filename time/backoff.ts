import { type Clock, realClock } from './clock.ts';

/** How long to wait before another attempt. */
export interface Backoff {
  /** Before the second attempt. */
  readonly firstMs: number;
  readonly maxMs: number;
  /** By which each wait is longer than the one before it; 2 when absent. */
  readonly factor?: number;
  /**
   * Part of the wait that is left to chance, so that many callers do not come back at the same moment: 1 is "full jitter"
   * (<https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/>), 0 none.
   */
  readonly jitter: number;
}

/** For a call over a short way: the other side is restarting, or a connection was lost. */
export const RETRY: Backoff = { firstMs: 100, maxMs: 5_000, jitter: 0.8 };

/** Milliseconds to wait after the failed attempt number `attempt`, counted from 0. */
export function backoffMs(attempt: number, backoff: Backoff, random: () => number = Math.random): number {
  const { firstMs, maxMs, factor = 2, jitter } = backoff;
  const wholeMs = Math.min(maxMs, firstMs * factor ** attempt);
  return wholeMs * (1 - jitter * random());
}

/** Waits that long. Rejects with the signal's reason when it aborts. */
export const waitBackoff = (attempt: number, backoff: Backoff, signal: AbortSignal, clock: Clock = realClock) =>
  clock.sleep(
    backoffMs(attempt, backoff, () => clock.random()),
    signal,
  );
