import * as z from 'zod';
import type { LeaseKey } from '../../contract/lease-key.ts';
import {
  type AnsweredBy,
  type AskedCredential,
  type PendingUserActionList,
  pendingUserActionList,
  type UserAction,
  userAction,
} from '../../contract/user-action.ts';
import type { Database } from '../ports/database.ts';
import { callRows } from './call.ts';

/** A10: requests of agents to their person. The first answer counts. */
export interface UserActions {
  /** Null: the lease is over. Repeating it with the same id answers how it stands. */
  ask(
    lease: LeaseKey,
    id: string,
    reason: string,
    seconds: number,
    credential?: AskedCredential,
  ): Promise<UserAction | null>;
  /** Null: there is no such request. */
  find(sessionId: string, id: string): Promise<UserAction | null>;
  answer(
    sessionId: string,
    id: string,
    status: 'done' | 'declined',
    note: string | null,
    by: AnsweredBy | null,
  ): Promise<UserAction | null>;
  list(sessionId: string): Promise<UserAction[]>;
  /** Actions of all sessions, or of one user's: the oldest 200, oldest first. */
  pending(userId: string | null): Promise<PendingUserActionList['user_actions']>;
}

/** User actions that may wait at once and are listed; more than that wait nowhere. */
const WAITING_MAX = 5_000;

const isoTime = z.string().transform(text => new Date(text).toISOString());
const times = { created_at: isoTime, expires_at: isoTime, answered_at: isoTime.nullable() };
const row = z.object({ ...userAction.shape, ...times });
const pendingRow = z.object({ ...pendingUserActionList.shape.user_actions.element.shape, ...times });

export function sqlUserActions(database: Database): UserActions {
  /** A function that returns no row of the table returns one of nulls. */
  const one = async (name: string, args: Readonly<Record<string, unknown>>): Promise<UserAction | null> => {
    const [found] = z.array(z.looseObject({ id: z.uuid().nullable() })).parse(await callRows(database, name, args));
    return found?.id ? row.parse(found) : null;
  };
  return {
    ask: (lease, id, reason, seconds, credential) =>
      one('ask_user', {
        p_session: lease.session_id,
        p_epoch: lease.epoch,
        p_runner: lease.runner_id,
        p_id: id,
        p_reason: reason,
        p_seconds: seconds,
        p_credential: credential === undefined ? null : JSON.stringify(credential),
      }),
    find: (sessionId, id) => one('user_action', { p_session: sessionId, p_id: id }),
    answer: (sessionId, id, status, note, by) =>
      one('answer_user_action', {
        p_session: sessionId,
        p_id: id,
        p_status: status,
        p_note: note,
        p_by: by && JSON.stringify(by),
      }),
    async list(sessionId) {
      const rows = await database.query<{ row: unknown }>(
        `select to_jsonb(omicron.user_action(p_session => session_id, p_id => id)) as row from omicron.user_actions
          where session_id = $1 order by created_at`,
        [sessionId],
      );
      return rows.map(each => row.parse(each.row));
    },
    async pending(userId) {
      const rows = await database.query<{ row: unknown }>(
        `select to_jsonb(a) || jsonb_build_object('user_id', s.user_id, 'conversation_id', s.conversation_id) as row
           from (select * from omicron.user_actions -- the index's end, however many were never read
                  where status = 'pending' and expires_at > (select clock_timestamp())
                  order by expires_at desc limit ${WAITING_MAX}) a
           join omicron.browser_sessions s on s.id = a.session_id and s.epoch = a.epoch
          where s.status in ('starting', 'ready') and s.user_id = coalesce($1, s.user_id)
          order by a.created_at limit 200`,
        [userId],
      );
      return rows.map(each => pendingRow.parse(each.row));
    },
  };
}
