import { OmicronError, PROBLEMS } from '../contract/problem.ts';
import { type Backoff, backoffMs } from '../http/backoff.ts';
import type { Clock } from '../http/clock.ts';

const BACKOFF: Backoff = { firstMs: 200, maxMs: 5_000, jitter: 0.1 };
/** Many callers are told the same moment; they must not all come at it. */
const SPREAD = 0.1;

/** Whether the same call may succeed later. A missing sandbox stays missing. */
export function mayRetry(error: unknown): error is OmicronError {
  if (!(error instanceof OmicronError) || error.code === 'sandbox_runtime_required') return false;
  const { status } = PROBLEMS[error.code];
  return status === 429 || status === 503;
}

/** How long to wait before another attempt: as the server says, else longer each time. */
export function waitMs(error: OmicronError, attempt: number, clock: Clock): number {
  const told = error.retryAfterSeconds;
  if (told !== undefined) return told * 1000 * (1 + SPREAD * clock.random());
  return backoffMs(attempt, BACKOFF, () => clock.random());
}

/**
 * Repeats `attempt` while it fails with 429 or 503 and the next attempt would still be before `deadlineMs`; then throws
 * the last error at once, with its `retryAfterSeconds`, instead of waiting for nothing.
 */
export async function retrying<T>(
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
