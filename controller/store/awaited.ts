import type { Database } from '../ports/database.ts';

/** A thing that a request waits for: that no runner of these epochs serves an agent, or that a user action is closed. */
export type Awaited =
  | { readonly sessionId: string; readonly epoch: number }
  | { readonly sessionId: string; readonly actionId: string };

/** Finds those of these that have come, in one statement. */
export type FindSettled = (awaited: readonly Awaited[]) => Promise<Awaited[]>;

export const sqlSettled =
  (database: Database): FindSettled =>
  async awaited => {
    const ends = awaited.filter(each => 'epoch' in each);
    const actions = awaited.filter(each => 'actionId' in each);
    const rows = await database.query<{ end: number | null; action: string | null }>(
      `select place::int - 1 as "end", null as action from unnest($1::uuid[], $2::int[]) with ordinality as e (session_id, epoch, place)
        where not omicron.may_act(p_session => e.session_id, p_epoch => e.epoch)
       union all select null, id::text from omicron.closed_user_actions(p_actions => $3::uuid[]) as id`,
      [ends.map(end => end.sessionId), ends.map(end => end.epoch), actions.map(action => action.actionId)],
    );
    const closed = new Set(rows.map(row => row.action));
    const over = new Set(rows.map(row => row.end));
    return [...ends.filter((_end, place) => over.has(place)), ...actions.filter(each => closed.has(each.actionId))];
  };
