import * as z from 'zod';
import { leaseKey } from '../../contract/lease-key.ts';
import { effectivePolicy } from '../../contract/policy/document.ts';
import type { Database } from '../ports/database.ts';
import type { EgressDesk } from '../ports/egress.ts';
import { call } from './call.ts';

const liveLease = leaseKey
  .extend({ remaining_ms: z.int(), ...effectivePolicy.shape })
  .transform(({ remaining_ms, ...lease }) => ({ ...lease, remainingMs: remaining_ms }))
  .nullable();

const awaitedUpload = leaseKey
  .extend({ remaining_ms: z.int() })
  .transform(({ remaining_ms, ...lease }) => ({ ...lease, remainingMs: remaining_ms }))
  .nullable();

export function sqlEgressDesk(database: Database): EgressDesk {
  /** One answer of the function for each runner, in their order. */
  const each = async <T>(name: 'live_lease' | 'awaited_upload', schema: z.ZodType<T>, runnerIds: readonly string[]) => {
    const rows = await database.query<{ answer: unknown }>(
      `select omicron.${name}(id) as answer from unnest($1::uuid[]) with ordinality as asked(id, place) order by place`,
      [[...runnerIds]],
    );
    return rows.map(({ answer }) => schema.parse(answer));
  };
  return {
    live: async runnerId => liveLease.parse(await call(database, 'live_lease', runnerId)),
    liveOf: runnerIds => each('live_lease', liveLease, runnerIds),
    awaitedOf: runnerIds => each('awaited_upload', awaitedUpload, runnerIds),
    async denials(events) {
      await call(database, 'write_denials', JSON.stringify(events));
    },
  };
}
