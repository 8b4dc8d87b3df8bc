import { setTimeout as delay } from 'node:timers/promises';
import type { RedeemAnswer } from '../contract/assignment.ts';
import { OmicronError } from '../contract/problem.ts';
import { RETRY, waitBackoff } from '../http/backoff.ts';
import { type ControllerClient, worthRetrying } from './reporting/controller-client.ts';

/** An assignment not redeemed in this time is stale: its claimer has given up (by its own cap of two minutes). */
const FRESH_MS = 60_000;
/** The predecessor mostly needs a fraction of a second; the broker's Retry-After counts in whole ones. */
const POLL_MS = { min: 100, max: 250 };

export interface Redeemed extends RedeemAnswer {
  /** When the lease ends, by `performance.now()`; counted from before the request was sent. */
  readonly endsAtMs: number;
}

/**
 * Redeems the lease's secrets, the moment at which the runner becomes somebody's. Waits while the predecessor drains
 * and while the controller is out of reach; any other refusal is final.
 */
export async function redeem(
  controller: ControllerClient,
  assignmentToken: string,
  abort: AbortSignal,
): Promise<Redeemed> {
  const signal = AbortSignal.any([abort, AbortSignal.timeout(FRESH_MS)]);
  let last: unknown;
  for (let n = 0; ; n += 1) {
    const sentMs = performance.now();
    try {
      const answer = await controller.redeem(assignmentToken, signal);
      return { ...answer, endsAtMs: sentMs + answer.remaining_ms };
    } catch (error) {
      last = error;
    }
    const wait = retry(last, n, signal);
    if (wait === undefined || signal.aborted) throw last;
    await wait.catch(() => {
      throw last;
    });
  }
}

function retry(error: unknown, n: number, signal: AbortSignal): Promise<void> | undefined {
  if (error instanceof OmicronError && error.code === 'predecessor_draining') {
    const askedMs = (error.retryAfterSeconds ?? 1) * 1_000;
    return delay(Math.min(Math.max(askedMs, POLL_MS.min), POLL_MS.max), undefined, { signal });
  }
  return worthRetrying(error) ? waitBackoff(n, { ...RETRY, maxMs: 1_000 }, signal) : undefined;
}
