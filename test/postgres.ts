import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { pino } from 'pino';
import { inject, onTestFinished } from 'vitest';
import type { Database } from '../controller/ports/database.ts';
import { postgresDatabase } from '../controller/store/postgres.ts';
import { eventually } from './eventually.ts';

/** A new, empty database on the run's Postgres. */
export const emptyDatabaseUrl = (): Promise<string> => newDatabaseUrl('template1');

/** A new database that is migrated; as a copy, in half the time. */
export const migratedDatabaseUrl = (): Promise<string> => newDatabaseUrl(inject('postgresTemplate'));

let way: (url: string) => string = url => url;

/** New databases are reached this way from here on: by a pooler. */
export function reachDatabases(by: (url: string) => string): void {
  way = by;
}

async function newDatabaseUrl(template: string): Promise<string> {
  const server: string | undefined = inject('postgresUrl');
  if (server === undefined) throw new Error('only integration tests have a Postgres: see UNIT in vitest.config.ts');
  const name = `t_${randomBytes(6).toString('hex')}`;
  const client = new pg.Client(`${server}/postgres`);
  await client.connect();
  try {
    // in half the time of the other strategy, which writes each page to the log
    await client.query(`create database ${name} template ${template} strategy file_copy`);
  } finally {
    await client.end();
  }
  return way(`${server}/${name}`);
}

/** A migrated database with a pool of its own; closed with the test. */
export async function freshPostgres(connectionsMax = 10): Promise<Database & { url: string }> {
  const url = await migratedDatabaseUrl();
  const database = postgresDatabase({ url, connectionsMax, log: pino({ level: 'silent' }) });
  onTestFinished(() => database.close());
  return { ...database, url };
}

/** Resolves once a statement in this database waits for a lock that another transaction holds. */
export const lockAwaited = (database: Database): Promise<unknown> =>
  eventually('a statement that waits for a lock', async () => {
    const waiting = await database.query(
      `select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    );
    return waiting.length > 0;
  });

/** One connection with statements of its own choosing: for schedules in which one transaction waits for another. */
export async function connection(url: string): Promise<pg.Client> {
  const client = new pg.Client(url);
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}
