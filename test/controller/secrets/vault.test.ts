import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { inspect } from 'node:util';
import { SignJWT } from 'jose';
import { describe, expect, it, onTestFinished } from 'vitest';
import { AUDIENCES } from '../../../contract/names.ts';
import { vaultSecretName } from '../../../contract/secrets.ts';
import type { Database } from '../../../controller/ports/database.ts';
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

/** A migrated database in which Supabase Vault is switched on, and what the platform made there before. */
async function vaultDatabase(platform = '') {
  const database = await freshPostgres();
  await database.script(await readFile(new URL('../../fakes/vault.sql', import.meta.url), 'utf8'));
  await database.script(platform);
  await migrate(database); // a vault that is switched on later is found at the next start
  return database;
}

const restVault = async (platform = '') => {
  const database = await vaultDatabase(platform);
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
    expect(await store().read('bob')).toMatchObject({ credentials: { slack: { username: 's', password: 'p' } } });
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
    expect(server.asked).toContain('POST /rest/v1/rpc/omicron_get_vault_secret 403');
    const client = await connection(database.url);
    for (const role of ['anon', 'authenticated'])
      for (const sql of [
        `public.omicron_get_vault_secret('x')`,
        `public.omicron_change_vault_credential('x', 'y', '{}')`,
      ]) {
        await client.query('begin');
        await client.query(`set local role ${role}`);
        await expect(client.query(`select ${sql}`)).rejects.toMatchObject({ code: '42501' });
        await client.query('rollback');
      }
    expect(await store().read('ada')).toMatchObject({ credentials: { walmart: { username: 'u', password: SECRET } } });
  });

  // As platforms have it: other names of the parameter, other rights, another type of the answer.
  const BODY = 'select decrypted_secret from vault.decrypted_secrets where name = $1';
  const PLATFORM = {
    'of the published signature': `create function public.get_vault_secret(secret_name text) returns text
      language sql security definer set search_path = '' as $$ ${BODY} $$`,
    'with another name of its parameter': `create function public.get_vault_secret(p_name text) returns text
      language sql security definer set search_path = '' as $$ ${BODY} $$`,
    'that answers json': `create function public.get_vault_secret(secret_name text) returns jsonb
      language plpgsql security definer as $$ begin return (${BODY})::jsonb; end $$`,
  };
  const THEIRS = `;
    revoke all on function public.get_vault_secret from public;
    grant execute on function public.get_vault_secret to service_role, authenticated;`;

  it.each(Object.entries(PLATFORM))(
    'uses a get_vault_secret %s, and leaves it and its rights as they are',
    async (_what, sql) => {
      const { database, server, store } = await restVault(sql + THEIRS);
      await using _server = server;
      const asItIs = () =>
        database.query(
          `select pg_get_functiondef(oid) as text, proacl::text as rights, xmin::text from pg_proc where proname = 'get_vault_secret'`,
        );
      const before = await asItIs();
      expect(before).toHaveLength(1);
      await store().put('ada', 'walmart', { username: 'u', password: SECRET });
      const stored = { credentials: { walmart: { username: 'u', password: SECRET } } };
      expect(await vaultSqlSecrets(database).read('ada')).toMatchObject(stored);
      if (!sql.includes('p_name')) expect(await store().read('ada')).toMatchObject(stored); // PostgREST calls by names
      await migrate(database);
      expect(await asItIs()).toEqual(before);
      const [ours] = await database.query(`select to_regproc('public.omicron_get_vault_secret') is null as none`);
      expect(ours).toEqual({ none: true });
    },
  );

  it('uses the function of the platform once there is one', async () => {
    const { database, server, store } = await restVault();
    await using _server = server;
    await store().put('ada', 'walmart', { username: 'u', password: SECRET });
    await database.script(PLATFORM['of the published signature'] + THEIRS);
    await migrate(database);
    const [left] = await database.query(
      `select to_regproc('public.get_vault_secret') is not null as theirs, to_regproc('public.omicron_get_vault_secret') is null as ours`,
    );
    expect(left).toEqual({ theirs: true, ours: true });
    for (const each of [store(), vaultSqlSecrets(database)])
      expect((await each.read('ada'))?.credentials.walmart?.password).toBe(SECRET);
  });

  it('that this role may not use does not keep the controller from starting, and says which right is missing', async () => {
    const database = await vaultDatabase(PLATFORM['of the published signature']);
    await database.script(`do $$ begin
      create role platform_controller nologin;
    exception when duplicate_object or unique_violation then null; end $$;
    revoke all on function public.get_vault_secret from public, anon, authenticated, service_role`);
    const client = await connection(database.url);
    await client.query('set role platform_controller');
    const limited = {
      ...database,
      query: async (sql: string, values: unknown[] = []) => (await client.query(sql, values)).rows,
    };
    await expect(vaultSqlSecrets(limited as Database).read('ada')).rejects.toMatchObject({
      code: 'secrets_unavailable',
      message: expect.stringContaining('grant it execute on public.get_vault_secret'),
    });
  });

  it('with one odd entry gives all others, and says what is wrong with that one', async () => {
    const { database, server, store } = await restVault();
    await using _server = server;
    const good = { username: 'u', password: 'p' };
    await database.query('select vault.create_secret($1, $2)', [
      JSON.stringify({
        credentials: {
          walmart: good,
          noted: { ...good, note: SECRET },
          empty: { username: SECRET, password: '' },
          number: { username: 'u', password: 7 },
          text: SECRET,
          'my bank': good,
          'a-b': good,
          'a.b': good,
          'pathy.example': { ...good, url: ['https://www.pathy.example/login?next=/', 'www.other.example'] },
          plain: { ...good, url: `http://${SECRET}.example` },
        },
        updated_by: 'platform',
      }),
      vaultSecretName('ada'),
    ]);
    const read = await store().read('ada');
    expect(await vaultSqlSecrets(database).read('ada')).toEqual(read);
    expect(read?.credentials).toEqual({
      walmart: good,
      'pathy.example': { ...good, url: ['https://www.pathy.example', 'https://www.other.example'] },
    });
    expect(read?.unusable).toEqual({
      noted: expect.stringContaining('"note"'),
      empty: expect.stringContaining('password'),
      number: expect.stringContaining('password'),
      text: expect.stringContaining('expected object'),
      'my bank': expect.stringContaining('site key must be'),
      'a-b': expect.stringContaining('"a.b" has the same secret names'),
      'a.b': expect.stringContaining('"a-b" has the same secret names'),
      plain: expect.stringContaining('url must be an https address'),
    });
    expect(inspect(read?.unusable)).not.toContain(SECRET);

    await using stack = await startStack({
      OMICRON_SECRET_STORE: 'vault-sql',
      OMICRON_DATABASE_URL: database.url,
      OMICRON_POOL_IDLE: 0,
    });
    await stack.lease();
    expect(Object.keys((await stack.machine.leased()).given.secrets)).toEqual([
      ...['WALMART_USERNAME', 'WALMART_PASSWORD', 'PATHY_EXAMPLE_USERNAME', 'PATHY_EXAMPLE_PASSWORD'],
    ]);
    // stored again, it is usable, and the others are unchanged
    const put = (site: string, body: object) => stack.call('PUT', `/internal/users/ada/credentials/${site}`, { body });
    expect((await put('noted', { ...good, url: 'noted.example' })).status).toBe(204);
    expect(problemOf(await put('a_b', good)).detail).toContain('already has the names');
    const { body } = await stack.call('GET', '/internal/users/ada/credentials');
    expect(body).toMatchObject({
      sites: [
        { site: 'a-b', secret_names: [], filled_on: [], problem: expect.stringContaining('rename') },
        { site: 'a.b' },
        { site: 'empty' },
        { site: 'my bank' },
        { site: 'noted', filled_on: ['noted.example'], problem: null },
        { site: 'number' },
        { site: 'pathy.example', filled_on: ['https://www.other.example', 'https://www.pathy.example'] },
        { site: 'plain' },
        { site: 'text' },
        { site: 'walmart', filled_on: [], problem: expect.stringContaining('store it again with its site') },
      ],
    });
    expect(JSON.stringify(body)).not.toContain(SECRET);
    const [kept] = await database.query<{ document: string }>(
      'select decrypted_secret as document from vault.decrypted_secrets',
    );
    expect(JSON.parse(kept?.document ?? '')).toMatchObject({ credentials: { text: SECRET }, updated_by: 'platform' });
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
      message: expect.stringContaining('no functions for the vault'),
    });
    const sql = vaultSqlSecrets(database);
    await expect(sql.read('ada')).rejects.toMatchObject({
      code: 'secrets_unavailable',
      message: expect.stringContaining('Vault'),
    });
    await expect(sql.remove('ada', 'x')).rejects.toMatchObject({ code: 'secrets_unavailable' });
  });

  it('with a document of another form costs the user its credentials, not the browser, and is never quoted nor written over', async () => {
    const documents = [`not JSON ${SECRET}`, JSON.stringify({ walmart: { username: 'u', password: SECRET } }), '[]'];
    const { database, server, store } = await restVault();
    await using _server = server;
    for (const [index, document] of documents.entries())
      await database.query('select vault.create_secret($1, $2)', [document, vaultSecretName(`user${index}`)]);
    await using stack = await startStack({
      OMICRON_SECRET_STORE: 'vault-sql',
      OMICRON_DATABASE_URL: database.url,
      OMICRON_POOL_IDLE: 0,
    });
    for (const [index, document] of documents.entries()) {
      const user_id = `user${index}`;
      for (const each of [vaultSqlSecrets(database), store()])
        expect(await each.read(user_id)).toEqual({
          credentials: {},
          unusable: {},
          fault: expect.stringMatching(/does not have the form .*correct or delete it/),
        });
      expect((await stack.lease({ user_id })).status).toBe('ready');
      const path = `/internal/users/${user_id}/credentials`;
      const refused = [
        await stack.call('GET', path),
        await stack.call('PUT', `${path}/shop`, { body: { username: 'u', password: 'p' } }),
      ];
      for (const answer of refused)
        expect(problemOf(answer)).toMatchObject({
          code: 'secrets_unavailable',
          detail: expect.stringContaining('correct or delete it'),
        });
      expect(problemOf(await stack.getOrCreate({ user_id, require_credentials: true }))).toMatchObject({
        code: 'credentials_not_configured',
        detail: expect.stringContaining('does not have the form'),
      });
      const [kept] = await database.query<{ document: string }>(
        'select decrypted_secret as document from vault.decrypted_secrets where name = $1',
        [vaultSecretName(user_id)],
      );
      expect(kept?.document).toBe(document);
    }
    expect(stack.logged()).not.toContain(SECRET);
  });

  it('[O26] hands a runner what its user has, through a whole controller, by the function and for a token of the platform, and the log has none of it', async () => {
    const { database, server } = await restVault(PLATFORM['of the published signature'] + THEIRS);
    await using _server = server;
    await using stack = await startStack({
      OMICRON_SECRET_STORE: 'vault-rest',
      SUPABASE_URL: server.url,
      SUPABASE_SERVICE_ROLE_KEY: SERVICE_ROLE_KEY,
      OMICRON_DATABASE_URL: database.url,
      OMICRON_POOL_IDLE: 0,
    });
    // as its own token maker signs: no iat
    const token = await new SignJWT()
      .setProtectedHeader({ alg: 'HS256' })
      .setAudience(AUDIENCES.controller)
      .setExpirationTime('60s')
      .sign(stack.serviceKey);
    const call = async (method: string, path: string, body: unknown) =>
      (await stack.call(method, `/internal/${path}`, { body, token })).status;
    expect(await call('PUT', 'users/ada/credentials/walmart', { username: 'u', password: SECRET })).toBe(204);
    const request = { user_id: 'ada', conversation_id: 'c' };
    expect(await call('POST', 'browser-sessions/get-or-create', request)).toBe(200);
    expect((await stack.machine.leased()).given.secrets).toEqual({ WALMART_USERNAME: 'u', WALMART_PASSWORD: SECRET });
    for (const hidden of [SECRET, SERVICE_ROLE_KEY]) expect(stack.logged()).not.toContain(hidden);
  });
});
