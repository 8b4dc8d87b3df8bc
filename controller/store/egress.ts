import * as z from 'zod';
import { leaseKey } from '../../contract/egress.ts';
import type { Database } from '../ports/database.ts';
import type { EgressDesk } from '../ports/egress.ts';
import { call } from './call.ts';
import { effectivePolicy } from './policies.ts';

const liveLease = leaseKey
  .extend({ remaining_ms: z.int(), ...effectivePolicy.shape })
  .transform(({ remaining_ms, ...lease }) => ({ ...lease, remainingMs: remaining_ms }))
  .nullable();

export function sqlEgressDesk(database: Database): EgressDesk {
  return {
    live: async runnerId => liveLease.parse(await call(database, 'live_lease', runnerId)),
    async liveOf(runnerIds) {
      const rows = await database.query<{ lease: unknown }>(
        `select omicron.live_lease(id) as lease from unnest($1::uuid[]) with ordinality as asked(id, place) order by place`,
        [[...runnerIds]],
      );
      return rows.map(({ lease }) => liveLease.parse(lease));
    },
    async denials(events) {
      await call(database, 'write_denials', JSON.stringify(events));
    },
  };
}
