import * as z from 'zod';
import type { EgressEvent } from '../../contract/egress.ts';
import { type LeaseKey, leaseKey } from '../../contract/lease-key.ts';
import { type EffectivePolicy, effectivePolicy } from '../../contract/policy/document.ts';
import type { Database } from '../ports/database.ts';
import { callFunction } from './call.ts';

/** A lease that its runner holds now, as the egress proxy needs it. */
export interface LiveLease {
  lease: LeaseKey;
  policy: EffectivePolicy;
  remainingMs: number;
}

/** A lease whose videos and files its runner's uploader may send, from its first moment until a day after its end. */
export interface AwaitedUpload {
  lease: LeaseKey;
  remainingMs: number;
}

/** A runner with a live lease, or one whose uploads are awaited. Null: its browser, or its uploader, holds nothing. */
export interface HeldLease extends LeaseKey {
  readonly policy_version: string | null;
  readonly lease_ms: number | null;
  readonly upload_ms: number | null;
}

/** Questions of the egress proxy: which lease a runner holds, and whose uploads are awaited. */
export interface EgressLeases {
  /** In the order asked; null where the runner holds no lease. */
  live(runnerIds: readonly string[]): Promise<(LiveLease | null)[]>;
  /** In the order asked; null where no upload is awaited. */
  awaitedUploads(runnerIds: readonly string[]): Promise<(AwaitedUpload | null)[]>;
  /** Those of all runners, without their policies. */
  held(): Promise<HeldLease[]>;
  /** Writes denials to the timelines; a repeated event is written once. */
  writeDenials(events: readonly EgressEvent[]): Promise<void>;
}

const awaitedUpload = leaseKey
  .extend({ remaining_ms: z.int() })
  .transform(({ remaining_ms, ...lease }): AwaitedUpload => ({ lease, remainingMs: remaining_ms }))
  .nullable();

const liveLease = leaseKey
  .extend({ remaining_ms: z.int(), ...effectivePolicy.shape })
  .transform(
    ({ remaining_ms, version, layers, ...lease }): LiveLease => ({
      lease,
      policy: { version, layers },
      remainingMs: remaining_ms,
    }),
  )
  .nullable();

export function sqlEgressLeases(database: Database): EgressLeases {
  /** One answer of the function for each runner, in their order. */
  const each = async <T>(
    name: 'live_leases' | 'awaited_uploads',
    schema: z.ZodType<T>,
    runnerIds: readonly string[],
  ) => {
    const rows = await database.query<{ answer: unknown }>(
      `select omicron.${name}(p_runners => $1::uuid[]) as answer`,
      [[...runnerIds]],
    );
    return rows.map(({ answer }) => schema.parse(answer));
  };
  return {
    live: runnerIds => each('live_leases', liveLease, runnerIds),
    awaitedUploads: runnerIds => each('awaited_uploads', awaitedUpload, runnerIds),
    // not parsed: 5,000 rows at each look
    held: () => database.query<HeldLease>('select * from omicron.held_leases()'),
    async writeDenials(events) {
      await callFunction(database, 'write_denials', { p_events: JSON.stringify(events) });
    },
  };
}
