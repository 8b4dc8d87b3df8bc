import * as z from 'zod';
import type { LeaseKey } from '../../contract/lease-key.ts';
import { type UserAction, userAction } from '../../contract/user-action.ts';
import type { Database } from '../ports/database.ts';
import { callRows } from './call.ts';

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
  /** A function that returns no row of the table returns one of nulls. */
  const one = async (name: string, args: Readonly<Record<string, unknown>>): Promise<UserAction | null> => {
    const [found] = z.array(z.looseObject({ id: z.uuid().nullable() })).parse(await callRows(database, name, args));
    return found?.id ? row.parse(found) : null;
  };
  return {
    ask: (lease, id, reason, seconds) =>
      one('ask_user', {
        p_session: lease.session_id,
        p_epoch: lease.epoch,
        p_runner: lease.runner_id,
        p_id: id,
        p_reason: reason,
        p_seconds: seconds,
      }),
    find: (sessionId, id) => one('user_action', { p_session: sessionId, p_id: id }),
    answer: (sessionId, id, status, note) =>
      one('answer_user_action', { p_session: sessionId, p_id: id, p_status: status, p_note: note }),
    async list(sessionId) {
      const rows = await database.query<{ row: unknown }>(
        `select to_jsonb(omicron.user_action(p_session => session_id, p_id => id)) as row from omicron.user_actions
          where session_id = $1 order by created_at`,
        [sessionId],
      );
      return rows.map(each => row.parse(each.row));
    },
  };
}
