import * as z from 'zod';
import type { HibernationReason } from '../../contract/hibernation.ts';
import type { LeaseKey } from '../../contract/lease-key.ts';
import type { Database } from '../ports/database.ts';
import { callFunction, callRows } from './call.ts';
import { content, type ProfileRow, refusal, type Save, type SaveRefusal } from './profiles.ts';

export interface Hibernated {
  readonly why: HibernationReason;
  /** Refused when the lease was used within this time. */
  readonly idleSeconds: number;
  /** How long the snapshot is kept. */
  readonly keepSeconds: number;
  readonly digest: string;
  readonly tabs: number;
}

/** The steps of hibernation. Throws `store_unavailable` when the database cannot be reached. */
export interface Hibernations {
  /** Chooses sessions that are hibernated instead of expiring, each for one replica, and says for how long nothing has used them. */
  expiring(provider: string, most: number): Promise<{ id: string; idleSeconds: number }[]>;
  /** Before the snapshot is written: the private profile that holds it. */
  begin(lease: LeaseKey, idleSeconds: number): Promise<ProfileRow | SaveRefusal>;
  /** Keeps the snapshot and gives the runner back, in one step. Null: the session is hibernated. */
  commit(lease: LeaseKey, save: Save, hibernated: Hibernated): Promise<SaveRefusal | null>;
  /** The snapshot that this runner's start restores. Null: none. */
  ofStart(lease: LeaseKey): Promise<ProfileRow | null>;
}

const expiringLease = z
  .object({ id: z.uuid(), idle_seconds: z.int() })
  .transform(({ id, idle_seconds }) => ({ id, idleSeconds: idle_seconds }));

export function sqlHibernations(database: Database): Hibernations {
  const leaseArguments = ({ session_id, epoch, runner_id }: LeaseKey) => ({
    p_session: session_id,
    p_epoch: epoch,
    p_runner: runner_id,
  });
  return {
    async expiring(provider, most) {
      const rows = await callRows(database, 'expiring_leases', { p_provider: provider, p_most: most });
      return z.array(expiringLease).parse(rows);
    },
    begin: async (lease, idleSeconds) =>
      z
        .union([content, refusal])
        .parse(
          await callFunction(database, 'begin_hibernation', { ...leaseArguments(lease), p_idle_seconds: idleSeconds }),
        ),
    commit: async (lease, { profileId, base, object, bytes }, { why, idleSeconds, keepSeconds, digest, tabs }) =>
      refusal.nullable().parse(
        await callFunction(database, 'hibernate', {
          ...leaseArguments(lease),
          p_idle_seconds: idleSeconds,
          p_keep_seconds: Math.ceil(keepSeconds),
          p_why: why,
          p_profile: profileId,
          p_base: base,
          p_object: object,
          p_digest: digest,
          p_bytes: bytes,
          p_tabs: tabs,
        }),
      ),
    ofStart: async lease =>
      content.nullable().parse(await callFunction(database, 'lease_snapshot', leaseArguments(lease))),
  };
}
