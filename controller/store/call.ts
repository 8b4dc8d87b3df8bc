import type { Database } from '../ports/database.ts';

/** Calls one database function that answers a single value. */
export async function call(database: Database, name: string, ...parameters: readonly unknown[]): Promise<unknown> {
  const places = parameters.map((_, index) => `$${index + 1}`).join(', ');
  const [row] = await database.query<{ answer: unknown }>(`select omicron.${name}(${places}) as answer`, parameters);
  return row?.answer ?? null;
}

/** Calls one that answers a set. */
export async function callSet(database: Database, name: string, ...parameters: readonly unknown[]): Promise<unknown[]> {
  const places = parameters.map((_, index) => `$${index + 1}`).join(', ');
  const rows = await database.query<{ answer: unknown }>(
    `select to_jsonb(answer) as answer from omicron.${name}(${places}) as answer`,
    parameters,
  );
  return rows.map(row => row.answer);
}
