import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TLSSocket } from 'node:tls';
import { inspect } from 'node:util';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { ENV } from '../../contract/names.ts';
import { postgresDatabase } from '../../controller/store/postgres.ts';
import type { PostgresAddress } from '../../controller/store/postgres-connection.ts';
import { missesPgbouncer, transactionPooler } from '../pgbouncer.ts';
import { type PostgresServer, startPostgresServer } from '../postgres-server.ts';
import { testCertificate } from '../site/certificate.ts';

/** Reaches this machine, as 127.0.0.1 does, and is no loopback address: what another host is, without one. */
const OTHER_HOST = '0.0.0.0';
const PASSWORD = 'hunter2-of-the-test';

const authority = testCertificate('authority.test');
const ofServer = testCertificate('localhost', { address: OTHER_HOST, issuer: authority });

const log = pino({ level: 'silent' });
const connect = (address: PostgresAddress) => {
  const database = postgresDatabase({ ...address, connectionsMax: 1, log });
  onTestFinished(() => database.close());
  return database;
};
const failureOf = (address: PostgresAddress): Promise<Error> =>
  (async () => connect(address).query('select 1'))().then(
    () => expect.fail('connected'),
    (error: Error) => error,
  );

describe('a server that asks for the password in clear', () => {
  let server: Server;
  let seen = Buffer.alloc(0);
  let certificate: { key: string; cert: string } | undefined;
  const sockets = new Set<Socket>();

  const hear = (socket: Socket | TLSSocket, answer: (bytes: Buffer) => void) =>
    socket
      .on('error', () => {})
      .on('data', bytes => {
        seen = Buffer.concat([seen, bytes]);
        answer(bytes);
      });
  // https://www.postgresql.org/docs/18/protocol-message-formats.html: AuthenticationCleartextPassword
  const askPassword = (socket: Socket) => () =>
    void socket.write(Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 3]), () => {});
  const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);

  beforeAll(async () => {
    server = createServer(socket => {
      sockets.add(socket);
      let agreed = false;
      hear(socket, bytes => {
        if (agreed) return;
        if (!bytes.equals(SSL_REQUEST)) return askPassword(socket)();
        if (certificate === undefined) return void socket.write('N');
        agreed = true;
        socket.removeAllListeners('data');
        socket.write('S');
        const secure = new TLSSocket(socket, { isServer: true, ...certificate });
        hear(secure, askPassword(secure));
      });
    });
    await new Promise<void>(listening => server.listen(0, '127.0.0.1', listening));
  });
  afterAll(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });

  const urlOf = (query: string, host = OTHER_HOST) =>
    `postgres://omicron:${PASSWORD}@${host}:${(server.address() as AddressInfo).port}/omicron${query}`;
  /** Its view of one attempt. */
  async function attack(address: PostgresAddress, with_?: typeof certificate): Promise<{ error: Error; seen: string }> {
    certificate = with_;
    seen = Buffer.alloc(0);
    const error = await failureOf(address);
    return { error, seen: seen.toString('latin1') };
  }

  const QUERIES = [
    ...['', '?sslmode=disable', '?sslmode=allow', '?sslmode=prefer', '?sslmode=require', '?sslmode=verify-ca'],
    ...['?sslmode=verify-full', '?sslmode=no-verify', '?ssl=no-verify', '?ssl=false', '?ssl=0', '?SSLMODE=disable'],
    ...['?uselibpqcompat=true&sslmode=require', '?uselibpqcompat=true&sslmode=prefer', '?sslrootcert=system'],
    ...['?sslmode=verify-full&sslmode=disable', '?sslmode=disable&sslmode=verify-full', '?sslmode=verify-full&ssl=0'],
    ...['?connectionString=postgres%3A%2F%2Fomicron%3Ahunter2-of-the-test%40127.0.0.1', '?sslmode=Disable'],
  ];

  it.each(QUERIES)('sees no password of a URL with "%s", with and without TLS', async query => {
    for (const theirs of [undefined, testCertificate('localhost', { address: OTHER_HOST })]) {
      const outcome = await attack({ url: urlOf(query) }, theirs);
      expect(outcome.seen).not.toContain(PASSWORD);
      expect(outcome.seen).not.toContain('omicron');
      expect(inspect(outcome.error, { depth: 9 })).not.toContain(PASSWORD);
      expect(outcome.error.message).toMatch(/sslmode|OMICRON_DATABASE_(TLS|CA)/);
    }
  });

  it('sees none where the host stands in the query or the environment switches verification off', async () => {
    vi.stubEnv('PGSSLMODE', 'no-verify');
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
    onTestFinished(() => void vi.unstubAllEnvs());
    const theirs = testCertificate('localhost', { address: OTHER_HOST });
    for (const url of [urlOf(''), urlOf(`?host=${OTHER_HOST}`, 'localhost')])
      for (const certificateOfTheirs of [undefined, theirs])
        expect((await attack({ url }, certificateOfTheirs)).seen).not.toContain(PASSWORD);
  });

  it('sees it where the setting allows it, and on loopback, where no sslmode asks for TLS', async () => {
    for (const address of [
      { url: urlOf(''), tls: 'off' },
      { url: urlOf('?sslmode=disable'), tls: 'off' },
      { url: urlOf('', '127.0.0.1') },
    ] as const) {
      certificate = undefined;
      seen = Buffer.alloc(0);
      const database = postgresDatabase({ ...address, connectionsMax: 1, log });
      const asked = database.query('select 1').catch(() => {});
      await expect.poll(() => seen.toString('latin1')).toContain(PASSWORD);
      for (const socket of sockets) socket.destroy();
      await asked;
      await database.close();
    }
    expect((await attack({ url: urlOf('?sslmode=require'), tls: 'off' })).seen).not.toContain(PASSWORD);
  });
});

describe('a Postgres with TLS', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgresServer({
      initdb: ['--no-sync'],
      server: ['-c', 'fsync=off', '-c', 'listen_addresses=127.0.0.1'],
      tls: ofServer,
    });
  });
  afterAll(() => server.stop());

  const urlOf = (host: string, query = '') => `${server.url.replace('127.0.0.1', host)}/postgres${query}`;
  const encrypted = async (address: PostgresAddress) =>
    (await connect(address).query<{ ssl: boolean }>('select ssl from pg_stat_ssl where pid = pg_backend_pid()'))[0]
      ?.ssl;
  async function file(text: string): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'omicron-ca-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    await writeFile(join(folder, 'ca.pem'), text);
    return encodeURIComponent(join(folder, 'ca.pem'));
  }

  it('is used with TLS under an authority that is named, whatever the URL calls verification', async () => {
    for (const query of ['', '?sslmode=require', '?sslmode=verify-ca', '?sslmode=verify-full'])
      expect(await encrypted({ url: urlOf(OTHER_HOST, query), ca: authority.cert })).toBe(true);
    expect(await encrypted({ url: urlOf(OTHER_HOST, `?sslrootcert=${await file(authority.cert)}`) })).toBe(true);
    expect(await encrypted({ url: urlOf('localhost', '?sslmode=verify-full'), ca: authority.cert })).toBe(true);
  });

  it('is used without TLS on loopback, and elsewhere where the setting says so', async () => {
    expect(await encrypted({ url: urlOf('127.0.0.1') })).toBe(false);
    expect(await encrypted({ url: urlOf(OTHER_HOST), tls: 'off' })).toBe(false);
  });

  it('is refused under another authority, and the error says what to set', async () => {
    const other = testCertificate('authority.test').cert;
    for (const address of [
      { url: urlOf(OTHER_HOST) },
      { url: urlOf(OTHER_HOST), ca: other },
      { url: urlOf(OTHER_HOST, `?sslmode=require&sslrootcert=${await file(other)}`), ca: authority.cert },
      { url: urlOf('localhost', '?sslmode=require'), ca: other },
    ])
      expect(await failureOf(address)).toMatchObject({
        code: 'store_unavailable',
        message: expect.stringContaining(ENV.databaseCa),
      });
  });

  it('is refused under another name', async () => {
    const other = await startPostgresServer({
      initdb: ['--no-sync'],
      server: ['-c', 'fsync=off'],
      tls: testCertificate('db.example.test', { address: '192.0.2.1', issuer: authority }),
    });
    onTestFinished(() => other.stop());
    for (const host of [OTHER_HOST, 'localhost'])
      for (const mode of ['require', 'verify-ca', 'verify-full'])
        expect(
          await failureOf({
            url: `${other.url.replace('127.0.0.1', host)}/postgres?sslmode=${mode}`,
            ca: authority.cert,
          }),
        ).toMatchObject({
          code: 'store_unavailable',
          message: expect.stringContaining('ERR_TLS_CERT_ALTNAME_INVALID'),
        });
  });

  it.skipIf(missesPgbouncer('a pooler with TLS'))('is reached through a pooler with TLS of its own', async () => {
    const pooler = await transactionPooler(urlOf('127.0.0.1'), 1, ofServer);
    onTestFinished(() => pooler[Symbol.asyncDispose]());
    const url = pooler.url.replace('127.0.0.1', OTHER_HOST);
    expect(await connect({ url, ca: authority.cert }).query('select 1 as one')).toEqual([{ one: 1 }]);
    expect(await failureOf({ url })).toMatchObject({ message: expect.stringContaining(ENV.databaseCa) });
  });
});
