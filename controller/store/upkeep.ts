import * as z from 'zod';
import type { Database } from '../ports/database.ts';
import type { Upkeep } from '../ports/upkeep.ts';
import { call, callSet } from './call.ts';

export function sqlUpkeep(database: Database, rules: { startSeconds: number }): Upkeep {
  return {
    async setCapacity(most) {
      await call(database, 'set_capacity', most);
    },
    expire: async most => z.array(z.uuid()).parse(await callSet(database, 'expire_leases', most)),
    failStuckStarts: async most =>
      z.array(z.uuid()).parse(await callSet(database, 'fail_stuck_starts', rules.startSeconds, most)),
    async endAll(provider) {
      await call(database, 'end_all', provider);
    },
    expiredArtifacts: (days, most) =>
      database.query<{ id: string; uri: string }>(
        `select id, uri from omicron.artifacts
          where state = 'stored' and created_at < (select clock_timestamp()) - make_interval(days => $1)
          order by created_at limit $2`,
        [days, most],
      ),
    async markExpired(artifactId) {
      await database.query(
        `update omicron.artifacts set state = 'expired', reason = 'retention' where id = $1 and state = 'stored'`,
        [artifactId],
      );
    },
  };
}
