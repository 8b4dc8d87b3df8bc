import { eventIds } from '../../process/span.ts';
import { currentSpan } from '../../process/tracing.ts';
import type { Database } from '../ports/database.ts';

/** Arguments by the names of the function's parameters. */
type Arguments = Readonly<Record<string, unknown>>;

/** `omicron.acquire(p_user => $1, ...)` */
const writeInvocation = (name: string, args: Arguments): string =>
  `omicron.${name}(${Object.keys(args)
    .map((parameter, index) => `${parameter} => $${index + 1}`)
    .join(', ')})`;

/** Steps whose events have the ids of the span that runs: `omicron.write_event` reads them. */
const EVENT_STEPS: readonly string[] = [
  ...['acquire', 'make_ready', 'fail_claim', 'end_lease', 'end_released', 'archive', 'hibernate'],
];

/** The span that runs, as `omicron.write_event` reads it; empty where there is none. */
export function spanSetting(): string {
  const ids = currentSpan();
  return ids === undefined ? '' : JSON.stringify(eventIds(ids));
}

/** A part of `from` that sets it until the end of the statement, before a function of its columns is called. */
export const setsSpan = (parameter: number): string =>
  `(select set_config('omicron.span', $${parameter}, true)) as span`;

/** Calls a database function that returns one value. */
export async function callFunction(database: Database, name: string, args: Arguments): Promise<unknown> {
  const values = Object.values(args);
  const span = EVENT_STEPS.includes(name) ? spanSetting() : '';
  const select = `select ${writeInvocation(name, args)} as answer`;
  const [row] = await (span === ''
    ? database.query<{ answer: unknown }>(select, values)
    : database.query<{ answer: unknown }>(`${select} from ${setsSpan(values.length + 1)}`, [...values, span]));
  return row?.answer ?? null;
}

/** Calls one that returns rows; each as `to_jsonb` writes it. */
export async function callRows(database: Database, name: string, args: Arguments): Promise<unknown[]> {
  const sql = `select to_jsonb(answer) as answer from ${writeInvocation(name, args)} as answer`;
  const rows = await database.query<{ answer: unknown }>(sql, Object.values(args));
  return rows.map(row => row.answer);
}
