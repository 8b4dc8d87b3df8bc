import { randomUUID } from 'node:crypto';
import type { RedeemAnswer } from '../../contract/assignment.ts';
import type { EffectivePolicy } from '../../contract/policy/document.ts';
import { OmicronError } from '../../contract/problem.ts';
import { backoffMs, RETRY } from '../../time/backoff.ts';
import type { Clock } from '../../time/clock.ts';
import { type ControllerClient, worthRetrying } from '../reporting/controller-client.ts';

/** An assignment not redeemed in this time is stale: its claimer has given up (by its own cap of two minutes). */
const FRESH_MS = 60_000;
/** The predecessor mostly needs a fraction of a second; the broker's Retry-After counts in whole ones. */
const POLL_MS = { min: 100, max: 250 };

/** The lease as its runner redeemed it. */
export interface Redeemed {
  /** Names to values. */
  readonly secrets: Readonly<Record<string, string>>;
  readonly sites: RedeemAnswer['sites'];
  readonly clientCertificates: NonNullable<RedeemAnswer['client_certificates']>;
  readonly policy: EffectivePolicy;
  readonly leaseToken: string;
  readonly artifactToken: string;
  readonly egressCredential: string;
  /** The session was hibernated: its snapshot is to be restored. */
  readonly restores: boolean;
  /** The session is hibernated when this machine goes away. */
  readonly hibernates: boolean;
  readonly uploadCredential: string | undefined;
  /** When the lease ends, by the runner's clock; counted from before the request was sent. */
  readonly endsAtMs: number;
}

/**
 * Redeems the lease's secrets: the moment at which the runner becomes the lease's. Waits while the predecessor drains
 * and while the controller cannot be reached, and asks again when the answer was lost; any other refusal is final.
 */
export async function redeemAssignment(
  controller: Pick<ControllerClient, 'redeem'>,
  assignmentToken: string,
  abort: AbortSignal,
  clock: Clock,
): Promise<Redeemed> {
  const deadlineMs = clock.nowMs() + FRESH_MS;
  const signal = AbortSignal.any([abort, AbortSignal.timeout(FRESH_MS)]);
  const idempotencyKey = randomUUID();
  let last: unknown;
  for (let attempt = 0; ; attempt += 1) {
    const sentMs = clock.nowMs();
    try {
      return redeemedOf(await controller.redeem(assignmentToken, idempotencyKey, signal), sentMs);
    } catch (error) {
      // An aborted call has no refusal of its own.
      last = signal.aborted && !(error instanceof OmicronError) ? (last ?? gaveUp(abort.aborted, error)) : error;
      const waitMs = waitBeforeRetry(last, attempt, clock);
      if (waitMs === undefined || signal.aborted || clock.nowMs() + waitMs >= deadlineMs) throw last;
      await clock.sleep(waitMs, signal).catch(() => undefined);
    }
  }
}

const gaveUp = (stopping: boolean, cause: unknown): OmicronError =>
  stopping
    ? new OmicronError('assignment_refused', 'This runner is stopping; request a new lease.', { cause })
    : new OmicronError('controller_unreachable', 'The controller did not answer the redemption in time.', { cause });

const redeemedOf = (answer: RedeemAnswer, sentMs: number): Redeemed => ({
  secrets: answer.secrets,
  sites: answer.sites,
  clientCertificates: answer.client_certificates ?? [],
  policy: answer.policy,
  leaseToken: answer.lease_token,
  artifactToken: answer.artifact_token,
  restores: answer.restores === true,
  hibernates: answer.hibernates === true,
  egressCredential: answer.egress_credential,
  uploadCredential: answer.upload_credential,
  endsAtMs: sentMs + answer.remaining_ms,
});

/** Undefined: the refusal is final. */
function waitBeforeRetry(error: unknown, attempt: number, clock: Clock): number | undefined {
  if (error instanceof OmicronError && error.code === 'predecessor_draining') {
    const askedMs = (error.retryAfterSeconds ?? 1) * 1_000;
    return Math.min(Math.max(askedMs, POLL_MS.min), POLL_MS.max);
  }
  return worthRetrying(error) ? backoffMs(attempt, { ...RETRY, maxMs: 1_000 }, () => clock.random()) : undefined;
}
