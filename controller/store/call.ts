import type { Database } from '../ports/database.ts';

/** Arguments by the names of the function's parameters. */
type Arguments = Readonly<Record<string, unknown>>;

/** `omicron.acquire(p_user => $1, ...)` */
const writeInvocation = (name: string, args: Arguments): string =>
  `omicron.${name}(${Object.keys(args)
    .map((parameter, index) => `${parameter} => $${index + 1}`)
    .join(', ')})`;

/** Calls a database function that returns one value. */
export async function callFunction(database: Database, name: string, args: Arguments): Promise<unknown> {
  const sql = `select ${writeInvocation(name, args)} as answer`;
  const [row] = await database.query<{ answer: unknown }>(sql, Object.values(args));
  return row?.answer ?? null;
}

/** Calls one that returns rows; each as `to_jsonb` writes it. */
export async function callRows(database: Database, name: string, args: Arguments): Promise<unknown[]> {
  const sql = `select to_jsonb(answer) as answer from ${writeInvocation(name, args)} as answer`;
  const rows = await database.query<{ answer: unknown }>(sql, Object.values(args));
  return rows.map(row => row.answer);
}
