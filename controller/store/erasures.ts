import * as z from 'zod';
import { type UserErasure, userErasure } from '../../contract/user-erasure.ts';
import type { Database } from '../ports/database.ts';
import { callFunction } from './call.ts';

export type Removed = UserErasure['removed'];

/** The removal of everything of a user, step by step; each step may be repeated. */
export interface Erasures {
  /** Writes the intent, or takes over the one that there is, and ends the user's leases. Resolves with what `finish` takes. */
  begin(userId: string): Promise<string>;
  /** Users whose removal is neither finished nor worked on for some time; those first that have waited longest. */
  pending(most: number): Promise<string[]>;
  /** Stored artifacts of the user. */
  artifacts(userId: string, most: number): Promise<{ id: string; uri: string }[]>;
  countErased(userId: string, removed: Partial<Removed>): Promise<void>;
  /** Removes rows that no runner may still write. Resolves with how many sessions and profiles are left. */
  eraseRows(userId: string): Promise<number>;
  /** Objects that were removed by now. */
  removed(userId: string): Promise<Removed>;
  /** All is removed: forgets the intent, unless another has taken it over since `begin`. */
  finish(userId: string, begun: string): Promise<void>;
}

/** A request works on a removal for a few seconds. Its counts are its answer, so the loop keeps away meanwhile. */
const ABANDONED_SECONDS = 15;
/** Sessions of one transaction. */
const SESSIONS = 100;
const NOTHING: Removed = {
  sessions: 0,
  events: 0,
  videos: 0,
  files: 0,
  pages: 0,
  profiles: 0,
  credentials: 0,
  policies: 0,
  user_actions: 0,
};

export function sqlErasures(database: Database): Erasures {
  return {
    begin: async userId => z.string().parse(await callFunction(database, 'begin_erasure', { p_user: userId })),
    async pending(most) {
      const rows = await database.query<{ user_id: string }>(
        `select user_id from omicron.user_erasures
          where asked_at < clock_timestamp() - make_interval(secs => $2) order by asked_at limit $1`,
        [most, ABANDONED_SECONDS],
      );
      return rows.map(row => row.user_id);
    },
    artifacts: (userId, most) =>
      database.query<{ id: string; uri: string }>(
        `select a.id, a.uri from omicron.artifacts a join omicron.browser_sessions s on s.id = a.session_id
          where s.user_id = $1 and a.state = 'stored' limit $2`,
        [userId, most],
      ),
    async countErased(userId, removed) {
      await callFunction(database, 'count_erased', { p_user: userId, p_removed: JSON.stringify(removed) });
    },
    eraseRows: async userId =>
      z.int().parse(await callFunction(database, 'erase_rows', { p_user: userId, p_most: SESSIONS })),
    async removed(userId) {
      const [row] = await database.query<{ removed: object }>(
        'select removed from omicron.user_erasures where user_id = $1',
        [userId],
      );
      return userErasure.shape.removed.parse({ ...NOTHING, ...row?.removed });
    },
    async finish(userId, begun) {
      await callFunction(database, 'finish_erasure', { p_user: userId, p_asked_at: begun });
    },
  };
}
