import * as z from 'zod';
import type { LeaseKey } from '../../contract/lease-key.ts';
import { type UserAction, userAction } from '../../contract/user-action.ts';
import type { Database } from '../ports/database.ts';

/** A10: requests of agents to their person. The first answer counts. */
export interface UserActions {
  /** Null: the lease is over. Repeating it with the same id answers how it stands. */
  ask(lease: LeaseKey, id: string, reason: string, seconds: number): Promise<UserAction | null>;
  /** Null: there is no such request. */
  find(sessionId: string, id: string): Promise<UserAction | null>;
  answer(sessionId: string, id: string, status: 'done' | 'declined', note: string | null): Promise<UserAction | null>;
  list(sessionId: string): Promise<UserAction[]>;
}

const isoTime = z.string().transform(text => new Date(text).toISOString());
const row = z.object({
  ...userAction.shape,
  created_at: isoTime,
  expires_at: isoTime,
  answered_at: isoTime.nullable(),
});

export function sqlUserActions(database: Database): UserActions {
  const one = async (sql: string, parameters: readonly unknown[]): Promise<UserAction | null> => {
    const [found] = await database.query<{ row: { id: string | null } | null }>(
      `select to_jsonb(a) as row from ${sql} a`,
      parameters,
    );
    return found?.row?.id ? row.parse(found.row) : null;
  };
  return {
    ask: (lease, id, reason, seconds) =>
      one('omicron.ask_user($1, $2, $3, $4, $5, $6)', [
        ...[lease.session_id, lease.epoch, lease.runner_id],
        ...[id, reason, seconds],
      ]),
    find: (sessionId, id) => one('omicron.user_action($1, $2)', [sessionId, id]),
    answer: (sessionId, id, status, note) =>
      one('omicron.answer_user_action($1, $2, $3, $4)', [sessionId, id, status, note]),
    async list(sessionId) {
      const rows = await database.query<{ row: unknown }>(
        `select to_jsonb(omicron.user_action(session_id, id)) as row from omicron.user_actions
          where session_id = $1 order by created_at`,
        [sessionId],
      );
      return rows.map(each => row.parse(each.row));
    },
  };
}
