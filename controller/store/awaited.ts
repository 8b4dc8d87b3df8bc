import type { Database } from '../ports/database.ts';

/** Finds those of these parts of sessions for which no one need wait any more, in one statement: their places in the list. */
type Find = (awaited: readonly (readonly [sessionId: string, part: string])[]) => Promise<number[]>;

export interface FindAwaited {
  /** Epochs on whose start no live claim works. */
  readonly settledStarts: Find;
  /** Epochs up to which no runner may act. */
  readonly unserved: Find;
  readonly closedUserActions: Find;
}

export function sqlAwaited(database: Database): FindAwaited {
  const find =
    (type: 'integer' | 'uuid', condition: string): Find =>
    async awaited => {
      const rows = await database.query<{ place: number }>(
        `select place::int - 1 as place from unnest($1::uuid[], $2::${type}[]) with ordinality as a (session_id, part, place) where ${condition}`,
        [awaited.map(([sessionId]) => sessionId), awaited.map(([, part]) => part)],
      );
      return rows.map(({ place }) => place);
    };
  return {
    settledStarts: find(
      'integer',
      `not exists (select from omicron.browser_sessions s where s.id = a.session_id and s.epoch = a.part
                      and s.status = 'starting' and s.claim_until > clock_timestamp())`,
    ),
    unserved: find('integer', 'not omicron.may_act(p_session => a.session_id, p_epoch => a.part)'),
    closedUserActions: async awaited => {
      const ids = awaited.map(([, actionId]) => actionId);
      const rows = await database.query<{ id: string }>(
        'select id from omicron.closed_user_actions(p_actions => $1::uuid[]) as id',
        [ids],
      );
      return rows.map(({ id }) => ids.indexOf(id));
    },
  };
}
