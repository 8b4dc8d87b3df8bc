import type { LeaseKey } from '../../contract/lease-key.ts';
import type { EffectivePolicy } from '../../contract/policy/document.ts';
import type { ArtifactReport, RunnerEvent } from '../../contract/reports.ts';
import type { BrokerClaims } from '../../contract/tokens.ts';

export type Redeemed =
  | {
      outcome: 'redeemed';
      userId: string;
      policy: EffectivePolicy;
      remainingMs: number;
      endsInSeconds: number;
      nowMs: number;
    }
  /** The runner of the lease before may still act; ask again. */
  | { outcome: 'wait' }
  | { outcome: 'refused'; why: string };

/** What runners say and ask. Repeating any of it is harmless, but `redeem` succeeds once. */
export interface Broker {
  /** Exactly one call succeeds for a claim, whatever the number of replicas. */
  redeem(claims: BrokerClaims, tokenExpiresMs: number): Promise<Redeemed>;
  /** Milliseconds left, and the version of the policy; null: the lease is over. No calls: only asks. */
  activity(lease: LeaseKey, calls: number): Promise<{ remainingMs: number; policyVersion: string } | null>;
  /** False: this runner never held that lease. */
  events(lease: LeaseKey, events: readonly RunnerEvent[]): Promise<boolean>;
  artifact(lease: LeaseKey, report: ArtifactReport): Promise<boolean>;
}
