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
import { RUNNER_STATES } from '../../contract/states.ts';
import type { Database } from '../ports/database.ts';
import { callFunction } from './call.ts';
import { type RunnerRow, runnerRow, type SessionRow, sessionRow } from './rows.ts';

export interface Stats {
  active: number;
  starting: number;
  /** Sessions that are kept without a runner. */
  hibernated: number;
  /** Callers that wait for a place. */
  waiting: number;
  runners: Record<string, number>;
  capacity: number;
  /** Leases that ended, by reason, and recordings, by what became of them: totals since the first day. */
  ended: Record<string, number>;
  recordings: Record<string, number>;
  /** Browsers that were frozen and thawed. */
  freezes: Record<string, number>;
  /** Sessions that were hibernated and restored, or could not be. */
  hibernations: Record<string, number>;
}

/** Reads, and the step that takes a session off the list. `userId`: sessions of others are not found. */
export interface Directory {
  session(sessionId: string, userId: string | null): Promise<SessionRow | null>;
  /** False while a live claim works on the start of this epoch. */
  isSettled(sessionId: string, epoch: number): Promise<boolean>;
  runner(runnerId: string): Promise<RunnerRow | null>;
  /** Newest first. Throws `invalid_request` for a cursor that this did not issue. */
  list(query: ListQuery): Promise<{ sessions: SessionRow[]; nextCursor: string | null }>;
  events(sessionId: string, query: EventQuery): Promise<EventPage>;
  artifacts(sessionId: string): Promise<Artifact[]>;
  archive(sessionId: string, userId: string | null): Promise<SessionRow | null>;
  stats(): Promise<Stats>;
}

const isoTime = z.string().transform(text => new Date(text).toISOString());
const eventRow = z.object({ ...eventSchema.shape, id: z.coerce.string(), at: isoTime });
const artifactRow = z.object({ ...artifactSchema.shape, created_at: isoTime });

/** A page ends after this row; opaque to callers. */
const cursorOf = (row: { created_at: string; id: string }) =>
  Buffer.from(JSON.stringify([row.created_at, row.id])).toString('base64url');

// Postgres knows no year 0 and no offset of 16 hours or more
const cursorTime = z.iso.datetime({ offset: true }).regex(/^[12].*(Z|[+-](0\d|1[0-4]):\d\d)$/);
const cursorSchema = z.tuple([cursorTime, z.uuid()]);

function readCursor(cursor: string): [string, string] {
  try {
    return cursorSchema.parse(JSON.parse(Buffer.from(cursor, 'base64url').toString()));
  } catch (cause) {
    throw new OmicronError('invalid_request', 'The cursor is not one that this list issued; start without one.', {
      cause,
    });
  }
}

/** A file whose session has ended, as it is answered until its object is removed. */
const DUE = JSON.stringify({ state: 'expired', uri: null, reason: 'session_ended' });

const LIVE: ReadonlySet<string> = new Set(['starting', 'ready', 'hibernated']);

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
    async isSettled(sessionId, epoch) {
      const waiting = await database.query(
        `select 1 from omicron.browser_sessions
          where id = $1 and epoch = $2 and status = 'starting' and claim_until > clock_timestamp()`,
        [sessionId, epoch],
      );
      return waiting.length === 0;
    },
    runner: runnerId => one(runnerRow, `select to_jsonb(r) as row from omicron.runners r where id = $1`, [runnerId]),
    async list(query) {
      const conditions = ['true'];
      const parameters: unknown[] = [];
      const where = (condition: (place: string) => string, value: unknown) => {
        parameters.push(value);
        conditions.push(condition(`$${parameters.length}`));
      };
      if (query.user_id !== undefined) where(p => `user_id = ${p}`, query.user_id);
      if (query.conversation_id !== undefined) where(p => `conversation_id = ${p}`, query.conversation_id);
      const rare = query.tag !== undefined && query.user_id === undefined && LIVE.has(query.status ?? '');
      let from = 'omicron.browser_sessions';
      // few sessions live: they are read in order, where the planner would fetch all that have the tag
      if (rare)
        from = `(select * from omicron.browser_sessions where status = '${query.status}' order by created_at desc, id desc offset 0) live`;
      else if (query.status !== undefined) where(p => `status = ${p}`, query.status);
      if (query.tag !== undefined) where(p => `tags @> ${p}::jsonb`, JSON.stringify(query.tag));
      if (!query.archived) conditions.push('archived_at is null');
      if (query.cursor !== undefined) {
        const [createdAt, id] = readCursor(query.cursor);
        parameters.push(createdAt, id);
        conditions.push(`(created_at, id) < ($${parameters.length - 1}::timestamptz, $${parameters.length}::uuid)`);
      }
      parameters.push(query.limit + 1);
      const rows = await database.query<{ row: { created_at: string; id: string } }>(
        // the page first: else each row that is found becomes JSON before it is sorted away
        `select to_jsonb(s) as row from (
           select * from ${from} where ${conditions.join(' and ')}
            order by created_at desc, id desc limit $${parameters.length}) s`,
        parameters,
      );
      const page = rows.slice(0, query.limit);
      const last = rows.length > query.limit ? page.at(-1) : undefined;
      return {
        sessions: page.map(({ row }): SessionRow => sessionRow.parse(row)),
        nextCursor: last ? cursorOf(last.row) : null,
      };
    },
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
    async stats(): Promise<Stats> {
      const [sessions] = await database.query<{
        active: number;
        starting: number;
        hibernated: number;
        waiting: number;
        capacity: number;
      }>(
        `select count(*) filter (where status = 'ready')::int as active, count(*) filter (where status = 'starting')::int as starting,
                count(*) filter (where status = 'hibernated')::int as hibernated,
                (select count(*)::int from omicron.waiting_callers where waits_until > clock_timestamp()) as waiting,
                (select count(*)::int from omicron.permits) as capacity
           from omicron.browser_sessions where status in ('starting', 'ready', 'hibernated') and expires_at > (select clock_timestamp())`,
      );
      const counted = await database.query<{ state: string; count: number }>(
        `select state, count(*)::int as count from omicron.runners where state <> 'gone' group by state`,
      );
      const tallies = await database.query<{ metric: string; label: string; total: number | string }>(
        `select metric, label, total from omicron.tallies`,
      );
      const totals = (metric: string) =>
        Object.fromEntries(tallies.filter(row => row.metric === metric).map(row => [row.label, Number(row.total)]));
      const runners = Object.fromEntries(RUNNER_STATES.filter(state => state !== 'gone').map(state => [state, 0]));
      for (const { state, count } of counted) runners[state] = count;
      return {
        active: sessions?.active ?? 0,
        starting: sessions?.starting ?? 0,
        hibernated: sessions?.hibernated ?? 0,
        waiting: sessions?.waiting ?? 0,
        capacity: sessions?.capacity ?? 0,
        runners,
        ended: totals('sessions_ended'),
        recordings: totals('recordings'),
        freezes: totals('freezes'),
        hibernations: totals('hibernations'),
      };
    },
  };
}
