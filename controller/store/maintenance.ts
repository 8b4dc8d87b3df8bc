import * as z from 'zod';
import type { Database } from '../ports/database.ts';
import { callFunction, callRows } from './call.ts';

/** Days after which artifacts are removed: videos and files, and kept pages. */
export type Retention = Readonly<Record<'videos' | 'pages', number>>;

/** Steps of the loops that look at time. Each is harmless when repeated or run on several replicas. */
export interface Maintenance {
  /** Makes the global cap `most`. */
  setCapacity(most: number): Promise<void>;
  /** Ends leases whose time is over; answers their session ids. */
  expire(most: number): Promise<string[]>;
  /** Starts older than the guard become errors; answers their session ids. */
  failStuckStarts(most: number): Promise<string[]>;
  /** Ends every lease of this provider and drains its runners: the local stack stops. */
  endAll(provider: string): Promise<void>;
  /** Stored artifacts past their retention, by id; those after `after`, null: from the first. */
  expiredArtifacts(retention: Retention, most: number, after: string | null): Promise<{ id: string; uri: string }[]>;
  /** Stored files that went with their session, as `expiredArtifacts`. */
  dueFiles(most: number, after: string | null): Promise<{ id: string; uri: string }[]>;
  markExpired(artifactId: string, reason: 'retention' | 'session_ended'): Promise<void>;
}

export function sqlMaintenance(database: Database, rules: { startSeconds: number }): Maintenance {
  return {
    async setCapacity(most) {
      await callFunction(database, 'set_capacity', { p_most: most });
    },
    expire: async most => z.array(z.uuid()).parse(await callRows(database, 'expire_leases', { p_most: most })),
    async failStuckStarts(most) {
      const stuck = { p_start_seconds: rules.startSeconds, p_most: most };
      return z.array(z.uuid()).parse(await callRows(database, 'fail_stuck_starts', stuck));
    },
    async endAll(provider) {
      await callFunction(database, 'end_all', { p_provider: provider });
    },
    expiredArtifacts: ({ videos, pages }, most, after) =>
      database.query<{ id: string; uri: string }>(
        `select id, uri from omicron.artifacts
          where state = 'stored'
            and created_at < (select clock_timestamp()) - make_interval(days => case when kind = 'page' then $4::int else $1::int end)
            and ($3::uuid is null or id > $3) order by id limit $2`,
        [videos, most, after, pages],
      ),
    dueFiles: (most, after) =>
      database.query<{ id: string; uri: string }>(
        `select id, uri from omicron.artifacts
          where state = 'stored' and due_at <= (select clock_timestamp()) and ($2::uuid is null or id > $2) order by id limit $1`,
        [most, after],
      ),
    async markExpired(artifactId, reason) {
      await database.query(
        `update omicron.artifacts set state = 'expired', reason = $2 where id = $1 and state = 'stored'`,
        [artifactId, reason],
      );
    },
  };
}
