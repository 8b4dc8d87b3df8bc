import * as z from 'zod';
import type { Database } from '../ports/database.ts';
import { callFunction, callRows } from './call.ts';

/** Days after which artifacts are removed: videos and files, and kept pages. */
export type Retention = Readonly<Record<'videos' | 'pages', number>>;

/** An artifact whose object is to be removed. `at`: since when; with the id, its place among the others. */
export interface DueArtifact {
  readonly id: string;
  readonly uri: string;
  readonly at: string;
}

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
  /** Stored artifacts past their retention, oldest first; those that come after `after`, null: from the first. */
  expiredArtifacts(retention: Retention, most: number, after: DueArtifact | null): Promise<DueArtifact[]>;
  /** Stored files that went with their session, as `expiredArtifacts`. */
  dueFiles(most: number, after: DueArtifact | null): Promise<DueArtifact[]>;
  markExpired(artifactId: string, reason: 'retention' | 'session_ended'): Promise<void>;
}

const NO_ID = '00000000-0000-0000-0000-000000000000';

/** The next artifacts in the order of a partial index, so that a batch costs the same however many there are. */
const dueBy = (time: string, condition: string): string =>
  `select id, uri, ${time} as at from omicron.artifacts
    where state = 'stored' and ${condition} and (${time}, id) > ($2::timestamp, $3::uuid) order by ${time}, id limit $1`;

/** As the indexes have it: 0037_due_artifacts.sql. */
const CREATED = `(created_at at time zone 'UTC')`;
const DUE = `(due_at at time zone 'UTC')`;
const olderThan = (days: '$4' | '$5') => `${CREATED} < (now() at time zone 'UTC') - make_interval(days => ${days})`;

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
      database.query<DueArtifact>(
        `select id, uri, at::text from (
           (${dueBy(CREATED, `kind <> 'page' and ${olderThan('$4')}`)})
           union all
           (${dueBy(CREATED, `kind = 'page' and ${olderThan('$5')}`)})
         ) due order by due.at, id limit $1`,
        [most, after?.at ?? '-infinity', after?.id ?? NO_ID, videos, pages],
      ),
    dueFiles: (most, after) =>
      database.query<DueArtifact>(
        `select id, uri, at::text from (${dueBy(DUE, `due_at is not null and ${DUE} <= (now() at time zone 'UTC')`)}) due order by due.at, id`,
        [most, after?.at ?? '-infinity', after?.id ?? NO_ID],
      ),
    async markExpired(artifactId, reason) {
      await database.query(
        `update omicron.artifacts set state = 'expired', reason = $2 where id = $1 and state = 'stored'`,
        [artifactId, reason],
      );
    },
  };
}
