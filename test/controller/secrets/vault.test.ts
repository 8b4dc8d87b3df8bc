import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { inspect } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { vaultSecretName } from '../../../contract/secrets.ts';
import { vaultRestSecrets } from '../../../controller/secrets/vault-rest.ts';
import { vaultSqlSecrets } from '../../../controller/secrets/vault-sql.ts';
import { migrate } from '../../../controller/store/migrate.ts';
import { postgrest } from '../../fakes/postgrest.ts';
import { connection, freshPostgres } from '../../postgres.ts';
import { problemOf, startStack } from '../stack.ts';
import { secretStoreContract } from './secret-store.contract.ts';

const SECRET = 'hunter2-must-stay-inside';
const SERVICE_ROLE_KEY = `service-${randomUUID()}`;
const ANON_KEY = `anon-${randomUUID()}`;

/** A migrated database in which Supabase Vault is switched on. */
async function vaultDatabase() {
  const database = await freshPostgres();
  await database.script(await readFile(new URL('../../fakes/vault.sql', import.meta.url), 'utf8'));
  await migrate(database); // a vault that is switched on later is found at the next start
  return database;
}

const restVault = async () => {
  const database = await vaultDatabase();
  const server = await postgrest(database.url, { [SERVICE_ROLE_KEY]: 'service_role', [ANON_KEY]: 'anon' });
  const store = (serviceRoleKey = SERVICE_ROLE_KEY) => vaultRestSecrets({ url: server.url, serviceRoleKey });
  return { database, server, store };
};

secretStoreContract('in Supabase Vault over SQL', async () => {
  const database = await vaultDatabase();
  const [store, another] = [vaultSqlSecrets(database), vaultSqlSecrets(database)];
  return { store, another, [Symbol.asyncDispose]: async () => {} };
});

secretStoreContract('in Supabase Vault over PostgREST', async () => {
  const { server, store } = await restVault();
  return { store: store(), another: store(), [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
});

describe('[O8] Supabase Vault', () => {
  it('holds one document a user under a derived name, in the form of the platform', async () => {
    const { database, server, store } = await restVault();
    await using _server = server;
    await store().put('ada', 'walmart', { username: 'u', password: SECRET });
    const [row] = await database.query<{ name: string; document: string; raw: string }>(
      'select name, decrypted_secret as document, secret as raw from vault.decrypted_secrets',
    );
    expect(row?.name).toBe('pw_site_creds__ada');
    expect(JSON.parse(row?.document ?? '')).toEqual({ credentials: { walmart: { username: 'u', password: SECRET } } });
    // a document that the platform stored itself is read the same
    await database.query('select vault.create_secret($1, $2)', [
      JSON.stringify({ credentials: { slack: { username: 's', password: 'p' } } }),
      vaultSecretName('bob'),
    ]);
    expect(await store().read('bob')).toEqual({ credentials: { slack: { username: 's', password: 'p' } } });
    expect(await vaultSqlSecrets(database).read('ada')).toEqual(await store().read('ada'));
  });

  it('lets the service role alone call its functions', async () => {
    const { database, server, store } = await restVault();
    await using _server = server;
    await store().put('ada', 'walmart', { username: 'u', password: SECRET });
    for (const key of [ANON_KEY, 'no key of theirs']) {
      const error = await store(key)
        .read('ada')
        .catch((cause: unknown) => cause);
      expect(error).toMatchObject({
        code: 'secrets_unavailable',
        message: expect.stringContaining('service role key'),
      });
      await expect(store(key).put('ada', 'walmart', { username: 'u', password: 'x' })).rejects.toMatchObject({
        code: 'secrets_unavailable',
      });
      for (const hidden of [key, SECRET]) expect(inspect(error, { depth: 9 })).not.toContain(hidden);
    }
    expect(server.asked).toContain('POST /rest/v1/rpc/get_vault_secret 403');
    const client = await connection(database.url);
    for (const role of ['anon', 'authenticated'])
      for (const sql of [`public.get_vault_secret('x')`, `public.change_vault_credential('x', 'y', '{}')`]) {
        await client.query('begin');
        await client.query(`set local role ${role}`);
        await expect(client.query(`select ${sql}`)).rejects.toMatchObject({ code: '42501' });
        await client.query('rollback');
      }
    expect(await store().read('ada')).toEqual({ credentials: { walmart: { username: 'u', password: SECRET } } });
  });

  it('keeps the service role key to its own host, and out of every error', async () => {
    const seen: string[] = [];
    const elsewhere = createServer((request, response) => {
      seen.push(JSON.stringify(request.headers));
      response.writeHead(200, { 'content-type': 'application/json' }).end('null');
    });
    const redirecting = createServer((_request, response) =>
      response.writeHead(307, { location: `http://127.0.0.1:${portOf(elsewhere)}/` }).end(),
    );
    const portOf = (server: typeof elsewhere) => {
      const address = server.address();
      return typeof address === 'object' ? address?.port : undefined;
    };
    for (const server of [elsewhere, redirecting]) {
      await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
      onTestFinished(() => void server.close());
    }
    for (const url of [`http://127.0.0.1:${portOf(redirecting)}`, 'http://127.0.0.1:9']) {
      const store = vaultRestSecrets({ url, serviceRoleKey: SERVICE_ROLE_KEY });
      const error = await store
        .put('ada', 'shop', { username: 'u', password: SECRET })
        .catch((cause: unknown) => cause);
      expect(error).toMatchObject({ code: 'secrets_unavailable', retryAfterSeconds: 2 });
      for (const hidden of [SERVICE_ROLE_KEY, SECRET]) expect(inspect(error, { depth: 9 })).not.toContain(hidden);
    }
    expect(seen).toEqual([]);
  });

  it('that has no functions says what to do, over SQL and over PostgREST', async () => {
    const database = await freshPostgres(); // no vault schema
    await using server = await postgrest(database.url, { [SERVICE_ROLE_KEY]: 'postgres' });
    const rest = vaultRestSecrets({ url: server.url, serviceRoleKey: SERVICE_ROLE_KEY });
    await expect(rest.read('ada')).rejects.toMatchObject({
      code: 'secrets_unavailable',
      message: expect.stringContaining('migrations'),
    });
    const sql = vaultSqlSecrets(database);
    await expect(sql.read('ada')).rejects.toMatchObject({
      code: 'secrets_unavailable',
      message: expect.stringContaining('Vault'),
    });
    await expect(sql.remove('ada', 'x')).rejects.toMatchObject({ code: 'secrets_unavailable' });
  });

  it('with a document of another form is named, never quoted, not in an error nor in the log', async () => {
    const database = await vaultDatabase();
    for (const [user, document] of [
      ['ada', `not JSON ${SECRET}`],
      ['bob', JSON.stringify({ credentials: { shop: { username: 'u', password: 7, note: SECRET } } })],
    ] as const)
      await database.query('select vault.create_secret($1, $2)', [document, vaultSecretName(user)]);
    const { server, store } = await (async () => {
      const server = await postgrest(database.url, { [SERVICE_ROLE_KEY]: 'service_role' });
      return { server, store: vaultRestSecrets({ url: server.url, serviceRoleKey: SERVICE_ROLE_KEY }) };
    })();
    await using _server = server;
    for (const each of [vaultSqlSecrets(database), store])
      for (const attempt of [
        () => each.read('ada'),
        () => each.read('bob'),
        () => each.put('ada', 'x', { username: 'u', password: 'p' }),
      ]) {
        const error = await attempt().catch((cause: unknown) => cause);
        expect(error).toMatchObject({ code: 'secrets_unavailable' });
        expect(inspect(error, { depth: 9 })).not.toContain(SECRET);
      }
    await using stack = await startStack({
      OMICRON_SECRET_STORE: 'vault-sql',
      OMICRON_DATABASE_URL: database.url,
      OMICRON_POOL_IDLE: 0,
    });
    const put = await stack.call('PUT', '/internal/users/ada/credentials/shop', {
      body: { username: 'u', password: 'p' },
    });
    expect(problemOf(put).code).toBe('secrets_unavailable');
    expect(stack.logged()).not.toContain(SECRET);
  });

  it('hands a runner what its user has, through a whole controller, and the log has none of it', async () => {
    const { database, server } = await restVault();
    await using _server = server;
    await using stack = await startStack({
      OMICRON_SECRET_STORE: 'vault-rest',
      SUPABASE_URL: server.url,
      SUPABASE_SERVICE_ROLE_KEY: SERVICE_ROLE_KEY,
      OMICRON_DATABASE_URL: database.url,
      OMICRON_POOL_IDLE: 0,
    });
    await stack.call('PUT', '/internal/users/ada/credentials/walmart', { body: { username: 'u', password: SECRET } });
    await stack.lease();
    const [runner] = [...stack.machine.runners.values()];
    expect(runner?.redeemed?.secrets).toEqual({ WALMART_USERNAME: 'u', WALMART_PASSWORD: SECRET });
    for (const hidden of [SECRET, SERVICE_ROLE_KEY]) expect(stack.logged()).not.toContain(hidden);
  });
});
