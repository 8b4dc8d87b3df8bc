import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import type { Database } from '../../controller/ports/database.ts';
import { pgliteDatabase } from '../../controller/store/pglite.ts';
import { postgresDatabase } from '../../controller/store/postgres.ts';
import { emptyDatabaseUrl } from '../postgres.ts';

let lite: Promise<Database> | undefined;

/** Opens a database without a schema, on each of the two that a controller may have. */
export const EMPTY_DATABASES: Readonly<Record<string, () => Promise<Database>>> = {
  async Postgres() {
    const url = await emptyDatabaseUrl();
    const database = postgresDatabase({ url, connectionsMax: 4, log: pino({ level: 'silent' }) });
    onTestFinished(() => database.close());
    return database;
  },
  async PGlite() {
    lite ??= pgliteDatabase(); // seconds to create, so one for all tests of a file, emptied
    const database = await lite;
    await database.script('drop schema if exists omicron cascade; drop table if exists public.switch');
    return database;
  },
};

export async function closeEmptyDatabases(): Promise<void> {
  await (await lite)?.close();
}

/** The records, functions and triggers that applying anything would change. */
export const readTraces = (database: Database) =>
  database.query(`
    select (select jsonb_object_agg(name, jsonb_build_array(digest, applied_at)) from omicron.migrations) as recorded,
           (select jsonb_object_agg(oid::regprocedure, xmin::text) from pg_proc where pronamespace = 'omicron'::regnamespace) as functions,
           (select jsonb_object_agg(tgname, xmin::text) from pg_trigger where not tgisinternal) as triggers`);
