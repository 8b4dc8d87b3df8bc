import type { TestProject } from 'vitest/node';
import { startPostgresServer } from '../postgres-server.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** A real Postgres for this run; `test/postgres.ts` makes databases in it. */
    postgresUrl: string;
  }
}

/** One Postgres server for the whole run: that of TEST_POSTGRES_URL (without a database's name), else one from npm. */
export default async function postgres(project: TestProject): Promise<() => Promise<void>> {
  if (Number(process.versions.node.split('.')[0]) < 24)
    throw new Error(`the tests need Node 24 and got ${process.versions.node}: run them with npm test`);
  const given = process.env.TEST_POSTGRES_URL;
  if (given) {
    project.provide('postgresUrl', given);
    return async () => {};
  }
  const server = await startPostgresServer({
    initdb: ['--no-sync'],
    server: ['-c', 'fsync=off', '-c', 'max_connections=200'],
  });
  project.provide('postgresUrl', server.url);
  return () => server.stop();
}
