import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../local/free-port.ts';
import { eventually } from './eventually.ts';
import { testTool } from './tool.ts';

/** The address of the pooler; null on a machine without it. */
const PGBOUNCER = testTool('pgbouncer') ?? null;

/** Whether these tests cannot run without it. The run says so; in CI it fails. */
export function missesPgbouncer(tests: string): boolean {
  if (PGBOUNCER !== null) return false;
  const missing = `pgbouncer is not installed: nothing of ${tests} is shown (apt-get install pgbouncer)`;
  if (process.env.CI) throw new Error(missing);
  process.stderr.write(`\nSKIPPED: ${missing}\n\n`);
  return true;
}

/** Id of the unprivileged user on Debian and most other systems: the pooler refuses to run as root. */
const NOBODY = 65_534;

/** A real transaction pooler in front of a database; `url` goes through it. With `tls` it takes no connection without. */
export async function transactionPooler(
  databaseUrl: string,
  serverConnections: number,
  tls?: { key: string; cert: string },
) {
  if (PGBOUNCER === null) throw new Error('pgbouncer is not installed: npm test installs it');
  const target = new URL(databaseUrl);
  const port = await freePort();
  const folder = await mkdtemp(join(tmpdir(), 'omicron-pooler-'));
  const ini = join(folder, 'pgbouncer.ini');
  const [keyFile, certFile] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  if (tls)
    for (const [path, text] of [
      [keyFile, tls.key],
      [certFile, tls.cert],
    ] as const)
      await writeFile(path, text);
  await writeFile(
    ini,
    `[databases]
* = host=${target.hostname} port=${target.port} user=${target.username} password=${target.password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = ${serverConnections}
server_idle_timeout = 2
max_client_conn = 1000
${tls ? `client_tls_sslmode = require\nclient_tls_key_file = ${keyFile}\nclient_tls_cert_file = ${certFile}\n` : ''}`,
  );
  for (const path of [folder, ini, ...(tls ? [keyFile, certFile] : [])]) await chmod(path, 0o755);
  const root = process.getuid?.() === 0;
  const child = spawn(PGBOUNCER, ['--quiet', ini], {
    stdio: ['ignore', 'ignore', 'pipe'],
    ...(root ? { uid: NOBODY, gid: NOBODY } : {}),
  });
  let said = '';
  child.stderr.on('data', chunk => {
    said += String(chunk);
  });
  const ended = once(child, 'exit');
  await eventually(`pgbouncer listens: ${said}`, async () => {
    if (child.exitCode !== null) throw new Error(`pgbouncer ended: ${said}`);
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    socket.destroy();
    return true;
  });
  const url = new URL(databaseUrl);
  url.hostname = '127.0.0.1';
  url.port = String(port);
  return {
    url: url.href,
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM');
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}
