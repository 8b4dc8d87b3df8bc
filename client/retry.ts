import { OmicronError, PROBLEMS } from '../contract/problem.ts';
import { type Backoff, backoffMs } from '../time/backoff.ts';
import type { Clock } from '../time/clock.ts';
import { mayHaveBeenSent } from './may-have-been-sent.ts';

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

/** A call that the controller held for this long waited there. */
const HELD_MS = 1_000;

interface Retries {
  readonly clock: Clock;
  readonly deadlineMs: number;
  /** The deadline while nothing has answered at the address at all; `deadlineMs` unless given. */
  readonly absentDeadlineMs?: number | undefined;
  readonly signal: AbortSignal;
  /** Called with each refusal after which it tries again. */
  readonly onRefused?: (error: OmicronError) => void;
}

/**
 * Repeats `attempt` while it fails with 429 or 503. When the next attempt would be past the deadline, throws the last error
 * at once, with its `retryAfterSeconds`. A caller that waits in
 * the line, or for its start, goes on at once: while it is away, others get the places.
 */
export async function retryAttempts<T>(
  attempt: (leftMs: number) => Promise<T>,
  { clock, deadlineMs, absentDeadlineMs = deadlineMs, signal, onRefused }: Retries,
): Promise<T> {
  let isAbsent = true;
  for (let count = 0; ; count++) {
    signal.throwIfAborted();
    const sentMs = clock.nowMs();
    try {
      return await attempt(Math.max(0, deadlineMs - clock.nowMs()));
    } catch (error) {
      if (!mayRetry(error)) throw error;
      isAbsent &&= error.code === 'controller_unreachable' && !mayHaveBeenSent(error.cause);
      const waits = error.extra.position !== undefined || error.code === 'lease_starting';
      const ms = waits && clock.nowMs() - sentMs >= HELD_MS ? 0 : waitMs(error, count, clock);
      if (clock.nowMs() + ms > (isAbsent ? absentDeadlineMs : deadlineMs)) throw error;
      onRefused?.(error);
      await clock.sleep(ms, signal);
    }
  }
}
