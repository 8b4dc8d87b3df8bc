import * as z from 'zod';
import { OmicronError } from '../../contract/problem.ts';
import type { ListQuery } from '../../contract/session.ts';
import type { Database } from '../ports/database.ts';
import { type SessionRow, sessionRow } from './rows.ts';

export interface SessionRowPage {
  readonly sessions: SessionRow[];
  /** Null: the page is the last one. */
  readonly nextCursor: string | null;
}

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

const LIVE: ReadonlySet<string> = new Set(['starting', 'ready', 'hibernated']);

/** Newest first. Throws `invalid_request` for a cursor that this did not issue. */
export async function listSessions(database: Database, query: ListQuery): Promise<SessionRowPage> {
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
  if (query.tag !== undefined) {
    where(p => `tags @> ${p}::jsonb`, JSON.stringify(query.tag));
    if (Object.keys(query.tag).length > 0) conditions.push(`tags <> '{}'`); // the index has no others
  }
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
}
