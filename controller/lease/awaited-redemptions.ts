/**
 * Starts that this process leads, by claim. Where the runner redeems at the same process, the lease is made ready once the redemption's answer
 * has left, and its caller is answered while the runner reads it (ADR 0077). Any other start is made ready once its runner has answered.
 */
export class AwaitedRedemptions {
  readonly #awaited = new Map<string, () => void>();

  /** Until `stop`. `answered` resolves when the redemption of the claim was answered here. */
  await(claimId: string): { answered: Promise<void>; stop: () => void } {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#awaited.set(claimId, resolve);
    return { answered: promise, stop: () => void this.#awaited.delete(claimId) };
  }

  /** The answer to the redemption of this claim has left. */
  wasAnswered(claimId: string): void {
    this.#awaited.get(claimId)?.();
  }
}
