import type { Database } from '../../controller/ports/database.ts';

/**
 * Takes one fix out of a database function, to show that a test would notice. Throws when the text is not there: then the
 * fix has another form and the test must be looked at.
 */
export async function weaken(database: Database, name: string, from: string, to: string): Promise<void> {
  const [found] = await database.query<{ source: string }>(
    `select pg_get_functiondef(p.oid) as source from pg_proc p where p.proname = $1 and p.pronamespace = 'omicron'::regnamespace`,
    [name],
  );
  if (!found?.source.includes(from)) throw new Error(`${name} does not contain: ${from}`);
  await database.script(found.source.replace(from, () => to));
}
