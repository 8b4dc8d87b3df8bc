import { createHash } from 'node:crypto';
import type { Database } from '../ports/database.ts';

/** Calls of the gateway that were cancelled, for the replica that is about to pass them on. */
export interface CancelledCalls {
  /** Kept for longer than a replica waits for a browser. Repeating it changes nothing. */
  add(client: string, id: string | number): Promise<void>;
  has(client: string, id: string | number): Promise<boolean>;
}

const KEPT_SECONDS = 120;

export function sqlCancelledCalls(database: Database): CancelledCalls {
  return {
    async add(client, id) {
      await database.query(
        `delete from omicron.cancelled_calls where cancelled_at < (select clock_timestamp()) - make_interval(secs => $1)`,
        [KEPT_SECONDS],
      );
      await database.query(`insert into omicron.cancelled_calls (call) values ($1) on conflict do nothing`, [
        nameOf(client, id),
      ]);
    },
    async has(client, id) {
      const rows = await database.query(
        `select 1 from omicron.cancelled_calls
          where call = $1 and cancelled_at > clock_timestamp() - make_interval(secs => $2)`,
        [nameOf(client, id), KEPT_SECONDS],
      );
      return rows.length > 0;
    },
  };
}

/** Clients choose both, as long as they like; of the ids 1 and "1" each is its own. */
const nameOf = (client: string, id: string | number): string =>
  createHash('sha256')
    .update(JSON.stringify([client, id]))
    .digest('base64url');
