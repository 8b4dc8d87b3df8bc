import type { StartedLease } from '../store/leases.ts';
import type { SessionRow } from '../store/rows.ts';

/** A start whose runner is about to redeem. */
export interface AwaitedRedemption {
  /** Address and workload of the lease once it is ready. */
  readonly lease: StartedLease;
  /** The step that makes the lease ready begins; again where the runner had to wait. */
  readonly begun: () => void;
  /** The redemption has made the lease ready. */
  readonly done: (session: SessionRow) => void;
}

/**
 * Starts that this process leads, by claim. If the runner redeems at the same process, its redemption makes the lease ready, and
 * the caller is answered while the runner still reads what it was given (ADR 0077). Any other start is made ready once its runner has answered.
 */
export class AwaitedRedemptions {
  readonly #awaited = new Map<string, AwaitedRedemption>();

  /** Until `stop`. `session` resolves when a redemption has made the lease ready. */
  await(claimId: string, lease: StartedLease, begun: () => void): { session: Promise<SessionRow>; stop: () => void } {
    const { promise, resolve } = Promise.withResolvers<SessionRow>();
    this.#awaited.set(claimId, { lease, begun, done: resolve });
    return { session: promise, stop: () => void this.#awaited.delete(claimId) };
  }

  /** Undefined: the claim's redemption makes nothing ready. */
  of(claimId: string): AwaitedRedemption | undefined {
    return this.#awaited.get(claimId);
  }
}
