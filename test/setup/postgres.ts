import { randomBytes } from 'node:crypto';
import { pino } from 'pino';
import type { TestProject } from 'vitest/node';
import type { Database } from '../../controller/ports/database.ts';
import { migrate } from '../../controller/store/migrate.ts';
import { postgresDatabase } from '../../controller/store/postgres.ts';
import { startPostgresServer } from '../postgres-server.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** A real Postgres for this run; `test/postgres.ts` makes databases in it. */
    postgresUrl: string;
    /** A database there with the schema of this release, to which no test connects: migrated ones are copies of it. */
    postgresTemplate: string;
  }
}

/** One Postgres server for the whole run: that of TEST_POSTGRES_URL (without a database's name), else one from npm. */
export default async function postgres(project: TestProject): Promise<() => Promise<void>> {
  if (Number(process.versions.node.split('.')[0]) < 24)
    throw new Error(`the tests need Node 24 and got ${process.versions.node}: run them with npm test`);
  const given = process.env.TEST_POSTGRES_URL;
  const server = given
    ? { url: given, stop: async () => {} }
    : await startPostgresServer({
        initdb: ['--no-sync'],
        server: ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off', 'max_connections=200'].flatMap(
          setting => ['-c', setting],
        ),
      });
  project.provide('postgresUrl', server.url);
  project.provide('postgresTemplate', await migratedDatabase(server.url));
  return () => server.stop();
}

async function migratedDatabase(server: string): Promise<string> {
  const name = `migrated_${randomBytes(6).toString('hex')}`;
  const use = async (database: string, work: (on: Database) => Promise<unknown>) => {
    const url = `${server}/${database}`;
    const opened = postgresDatabase({ url, connectionsMax: 1, log: pino({ level: 'silent' }) });
    await work(opened).finally(() => opened.close());
  };
  await use('postgres', database => database.query(`create database ${name}`));
  await use(name, migrate);
  return name;
}
