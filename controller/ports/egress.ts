import type { EgressEvent } from '../../contract/egress.ts';
import type { LeaseKey } from '../../contract/lease-key.ts';
import type { EffectivePolicy } from '../../contract/policy/document.ts';

/** A lease that its runner holds now, as the egress proxy needs it. */
export interface LiveLease extends LeaseKey, EffectivePolicy {
  remainingMs: number;
}

/** A lease whose recordings its runner's uploader may send, from its first moment until a day after its end. */
export interface AwaitedUpload extends LeaseKey {
  remainingMs: number;
}

export interface EgressDesk {
  /** Null: the runner holds no lease. */
  live(runnerId: string): Promise<LiveLease | null>;
  /** In the order asked; null where the runner holds no lease. */
  liveOf(runnerIds: readonly string[]): Promise<(LiveLease | null)[]>;
  /** In the order asked; null where no recording is awaited. */
  awaitedOf(runnerIds: readonly string[]): Promise<(AwaitedUpload | null)[]>;
  /** Into the timelines; a repeated event is written once. */
  denials(events: readonly EgressEvent[]): Promise<void>;
}
