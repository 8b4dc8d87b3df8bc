import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { pino } from 'pino';
import { inject, onTestFinished } from 'vitest';
import type { Database } from '../controller/ports/database.ts';
import { migrate } from '../controller/store/migrate.ts';
import { postgresDatabase } from '../controller/store/postgres.ts';

/** A new, empty database on the run's Postgres. */
export async function emptyDatabaseUrl(): Promise<string> {
  const server: string | undefined = inject('postgresUrl');
  if (server === undefined) throw new Error('only integration tests have a Postgres: see UNIT in vitest.config.ts');
  const name = `t_${randomBytes(6).toString('hex')}`;
  const client = new pg.Client(`${server}/postgres`);
  await client.connect();
  try {
    await client.query(`create database ${name}`);
  } finally {
    await client.end();
  }
  return `${server}/${name}`;
}

/** A migrated database with a pool of its own; closed with the test. */
export async function freshPostgres(connectionsMax = 10): Promise<Database & { url: string }> {
  const url = await emptyDatabaseUrl();
  const database = postgresDatabase({ url, connectionsMax, log: pino({ level: 'silent' }) });
  onTestFinished(() => database.close());
  await migrate(database);
  return { ...database, url };
}

/** One connection with statements of its own choosing: for schedules in which one transaction waits for another. */
export async function connection(url: string): Promise<pg.Client> {
  const client = new pg.Client(url);
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}
