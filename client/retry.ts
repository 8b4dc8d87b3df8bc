import { OmicronError, PROBLEMS } from '../contract/problem.ts';
import { type Backoff, backoffMs } from '../time/backoff.ts';
import type { Clock } from '../time/clock.ts';

const BACKOFF: Backoff = { firstMs: 200, maxMs: 5_000, jitter: 0.1 };
/** Spreads callers that were given the same Retry-After, by up to a tenth of it; never earlier. */
const SPREAD = 0.1;

/** Whether the same call may succeed later: a 429 or 503, except that a missing sandbox stays missing. */
export function mayRetry(error: unknown): error is OmicronError {
  if (!(error instanceof OmicronError) || error.code === 'sandbox_runtime_required') return false;
  const { status } = PROBLEMS[error.code];
  return status === 429 || status === 503;
}

/** How long to wait before another attempt: Retry-After, else a growing back-off. */
export function waitMs(error: OmicronError, attempt: number, clock: Clock): number {
  const { retryAfterSeconds } = error;
  if (retryAfterSeconds !== undefined) return retryAfterSeconds * 1000 * (1 + SPREAD * clock.random());
  return backoffMs(attempt, BACKOFF, () => clock.random());
}

/**
 * Repeats `attempt` while it fails with 429 or 503. When the next attempt would be past `deadlineMs`, throws the last error
 * at once, with its `retryAfterSeconds`.
 */
export async function retryAttempts<T>(
  attempt: (leftMs: number) => Promise<T>,
  { clock, deadlineMs, signal }: { clock: Clock; deadlineMs: number; signal: AbortSignal },
): Promise<T> {
  for (let count = 0; ; count++) {
    signal.throwIfAborted();
    try {
      return await attempt(Math.max(0, deadlineMs - clock.nowMs()));
    } catch (error) {
      if (!mayRetry(error)) throw error;
      const ms = waitMs(error, count, clock);
      if (clock.nowMs() + ms > deadlineMs) throw error;
      await clock.sleep(ms, signal);
    }
  }
}
