import * as z from 'zod';
import { OmicronError } from '../../contract/problem.ts';
import {
  type Artifact,
  artifactSchema,
  type EventPage,
  type EventQuery,
  eventSchema,
  type ListQuery,
} from '../../contract/session.ts';
import type { Database } from '../ports/database.ts';
import { callFunction } from './call.ts';
import { type RunnerRow, runnerRow, type SessionRow, sessionRow } from './rows.ts';
import { listSessions, type SessionRowPage } from './session-list.ts';
import { readStats, type Stats } from './stats.ts';

/** Reads, and the step that takes a session off the list. `userId`: sessions of others are not found. */
export interface Directory {
  session(sessionId: string, userId: string | null): Promise<SessionRow | null>;
  runner(runnerId: string): Promise<RunnerRow | null>;
  /** The runners among these that are not being created, by id; null: it has no row. */
  createdRunners(runnerIds: readonly string[]): Promise<Map<string, RunnerRow | null>>;
  /** Newest first. Throws `invalid_request` for a cursor that this did not issue. */
  list(query: ListQuery): Promise<SessionRowPage>;
  events(sessionId: string, query: EventQuery): Promise<EventPage>;
  artifacts(sessionId: string): Promise<Artifact[]>;
  archive(sessionId: string, userId: string | null): Promise<SessionRow | null>;
  stats(): Promise<Stats>;
  /** Resolves if the database answers. Throws `store_unavailable` otherwise. */
  answers(): Promise<void>;
}

const isoTime = z.string().transform(text => new Date(text).toISOString());
const eventRow = z.object({ ...eventSchema.shape, id: z.coerce.string(), at: isoTime });
const artifactRow = z.object({ ...artifactSchema.shape, created_at: isoTime });

/** A file whose session has ended, as it is answered until its object is removed. */
const DUE = JSON.stringify({ state: 'expired', uri: null, reason: 'session_ended' });

export function sqlDirectory(database: Database): Directory {
  const one = async <T>(schema: z.ZodType<T>, sql: string, parameters: unknown[]): Promise<T | null> => {
    const [found] = await database.query<{ row: unknown }>(sql, parameters);
    return found ? schema.parse(found.row) : null;
  };
  return {
    session: (sessionId, userId) =>
      one(
        sessionRow,
        `select to_jsonb(s) as row from omicron.browser_sessions s where id = $1 and user_id = coalesce($2, user_id)`,
        [sessionId, userId],
      ),
    runner: runnerId => one(runnerRow, `select to_jsonb(r) as row from omicron.runners r where id = $1`, [runnerId]),
    async createdRunners(runnerIds) {
      const rows = await database.query<{ id: string; row: unknown }>(
        `select awaited.id, to_jsonb(r) as row from unnest($1::uuid[]) as awaited (id)
           left join omicron.runners r on r.id = awaited.id where r.state is distinct from 'creating'`,
        [runnerIds],
      );
      return new Map(rows.map(({ id, row }) => [id, runnerRow.nullable().parse(row)]));
    },
    list: query => listSessions(database, query),
    async events(sessionId, { limit, cursor, code }) {
      if (cursor !== undefined && !/^\d{1,18}$/.test(cursor))
        throw new OmicronError('invalid_request', 'The cursor is not one that this list issued; start without one.');
      const rows = await database.query<{ row: unknown }>(
        `select to_jsonb(e) as row from omicron.session_events e
          where session_id = $1 and id > $2::bigint and ($3::text is null or data ->> 'code' = $3)
          order by id limit $4`,
        [sessionId, cursor ?? '0', code ?? null, limit + 1],
      );
      const events = rows.slice(0, limit).map(({ row }) => eventRow.parse(row));
      return { events, next_cursor: rows.length > limit ? (events.at(-1)?.id ?? null) : null };
    },
    async artifacts(sessionId) {
      const rows = await database.query<{ row: unknown }>(
        `select to_jsonb(a) || case when state = 'stored' and due_at <= clock_timestamp() then $2::jsonb else '{}' end as row
           from omicron.artifacts a where session_id = $1 order by created_at, name`,
        [sessionId, DUE],
      );
      return rows.map(({ row }) => artifactRow.parse(row));
    },
    archive: async (sessionId, userId) =>
      sessionRow.nullable().parse(await callFunction(database, 'archive', { p_session: sessionId, p_user: userId })),
    stats: () => readStats(database),
    async answers() {
      await database.query('select 1');
    },
  };
}
