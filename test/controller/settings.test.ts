import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { ENV } from '../../contract/names.ts';
import { vaultRestSecrets } from '../../controller/secrets/vault-rest.ts';
import { parseControllerSettings } from '../../controller/settings.ts';
import { postgresConnection } from '../../controller/store/postgres-connection.ts';
import { controllerSecretValues } from '../../manifests/secret-values.ts';

const PASSWORD = 'hunter2-of-the-test';
const { values } = controllerSecretValues(`postgres://omicron:${PASSWORD}@db.example/omicron`);
const REST = { [ENV.secretStore]: 'vault-rest', [ENV.supabaseServiceRoleKey]: PASSWORD };

/** Undefined where the controller starts. */
function refusalOf(environment: Record<string, string>): string | undefined {
  try {
    parseControllerSettings({ ...values, ...environment });
    return undefined;
  } catch (error) {
    expect(inspect(error, { depth: 9 })).not.toContain(PASSWORD);
    return String(error);
  }
}

describe('the URL of Postgres', () => {
  it('needs TLS for every host that is not this machine, and names the setting that says otherwise', () => {
    for (const host of [
      'db.example',
      '10.0.0.5',
      '[2001:db8::1]',
      'localhost.example',
      '128.0.0.1',
      '127.0.0.1.example',
    ])
      for (const mode of ['disable', 'allow', 'prefer']) {
        const url = `postgres://omicron:${PASSWORD}@${host}/omicron?sslmode=${mode}`;
        expect(refusalOf({ [ENV.databaseUrl]: url })).toMatch(/OMICRON_DATABASE_URL .*set OMICRON_DATABASE_TLS=off/);
        expect(refusalOf({ [ENV.databaseUrl]: url, [ENV.databaseTls]: 'off' })).toBeUndefined();
        expect(postgresConnection({ url: url.replace(mode, 'require'), tls: 'off' }).ssl).toMatchObject({
          rejectUnauthorized: true,
        });
      }
    expect(refusalOf({})).toBeUndefined();
    for (const wrong of ['on', 'no', 'false', 'disable'])
      expect(refusalOf({ [ENV.databaseTls]: wrong })).toMatch(/verify, off/);
  });

  it.each([
    ['postgres://u:p@localhost:5433/db', { host: 'localhost', port: 5433, user: 'u', password: 'p', database: 'db' }],
    ['postgres://u:p@[::1]/db', { host: '::1' }],
    ['postgresql://u@127.0.0.2', { host: '127.0.0.2', user: 'u' }],
    ['postgres:///db', { host: 'localhost', database: 'db' }],
    ['postgres:///db?host=/run/postgresql&user=u', { host: '/run/postgresql', user: 'u', database: 'db' }],
    ['postgres://u:p@/db?host=/run/postgresql&sslmode=require', { host: '/run/postgresql', password: 'p' }],
    ['postgres://u:p@%2Frun%2Fpostgresql/db', { host: '/run/postgresql' }],
    ['postgres://u.ref:a%40b%2Fc%25@127.0.0.1:6543/db', { user: 'u.ref', password: 'a@b/c%', port: 6543 }],
    ['postgres://u@localhost/db?application_name=a&pgbouncer=true', { application_name: 'a' }],
  ])('%s stays on this machine and needs no TLS', (url, parts) => {
    const { ssl, ...rest } = postgresConnection({ url });
    expect(ssl).toBe(false);
    expect(rest).toMatchObject(parts);
  });

  it.each(['Qa/Zb@Xc', '77/Zb@Xc', 'Qa?Zb@Xc', '77?Zb', 'Qa#Zb', '77#Zb', '77%Zb', 'Qa@Zb/Xc'])(
    'is refused, without a part of the password, where that is "%s" unencoded',
    password => {
      const wrong = refusalOf({ [ENV.databaseUrl]: `postgres://omicron:${password}@db.example/omicron` });
      expect(wrong).toMatch(/percent-encoded/);
      expect(wrong).not.toMatch(/Q|Z|X|77/);
    },
  );

  it('may come with the authority of its certificate in PEM', () => {
    expect(refusalOf({ [ENV.databaseCa]: PASSWORD })).toMatch(/OMICRON_DATABASE_CA .*certificates in PEM/);
    const url = `postgres://omicron:${PASSWORD}@db.example/omicron?sslrootcert=/nowhere/ca.pem`;
    expect(refusalOf({ [ENV.databaseUrl]: url })).toMatch(/OMICRON_DATABASE_URL .*\/nowhere\/ca.pem/);
  });
});

describe('the gateway', () => {
  const address = 'https://browsers.example/mcp';
  const issuer = 'https://login.example/';

  it('needs an issuer, which keeps its slash, and addresses that tokens may be sent to', () => {
    expect(refusalOf({ [ENV.gatewayUrl]: address })).toContain(`${ENV.gatewayIssuer} is not set`);
    for (const wrong of [
      'http://browsers.example/mcp',
      'https://browsers.example',
      'https://browsers.example/mcp/',
      'mcp',
    ])
      expect(refusalOf({ [ENV.gatewayUrl]: wrong, [ENV.gatewayIssuer]: issuer })).toContain(ENV.gatewayUrl);
    expect(refusalOf({ [ENV.gatewayUrl]: address, [ENV.gatewayIssuer]: 'http://login.example' })).toContain('https');
    const settings = parseControllerSettings({ ...values, [ENV.gatewayUrl]: address, [ENV.gatewayIssuer]: issuer });
    expect(settings).toMatchObject({ gatewayUrl: address, gatewayIssuer: issuer, gatewayUserClaim: 'sub' });
  });
});

it('a pool has a maximum that is not below its minimum', () => {
  const pool = (idle: number, most: number) =>
    refusalOf({ [ENV.poolIdle]: String(idle), [ENV.poolIdleMax]: String(most) });
  expect(pool(5, 4)).toMatch(/OMICRON_POOL_IDLE_MAX is wrong: 4 must be at least OMICRON_POOL_IDLE, 5/);
  expect(pool(5, 5)).toBeUndefined();
  expect(pool(0, 10_001)).toMatch(/OMICRON_POOL_IDLE_MAX/);
});

it('a HashiCorp Vault needs a token, and an address to which it may be entrusted', () => {
  const store = { [ENV.secretStore]: 'vault-kv', [ENV.vaultUrl]: 'https://vault.example:8200' };
  expect(refusalOf(store)).toMatch(/OMICRON_VAULT_TOKEN is not set/);
  expect(refusalOf({ ...store, [ENV.vaultToken]: PASSWORD })).toBeUndefined();
  for (const url of ['http://vault.example:8200', 'vault.example'])
    expect(refusalOf({ ...store, [ENV.vaultToken]: PASSWORD, [ENV.vaultUrl]: url })).toMatch(/OMICRON_VAULT_URL/);
  for (const mount of ['/secret', 'secret/', '../sys', 'a b'])
    expect(refusalOf({ ...store, [ENV.vaultToken]: PASSWORD, [ENV.vaultMount]: mount })).toMatch(/must be a path/);
});

describe('the URL of Supabase', () => {
  it('needs https for every host that is not this machine, and names the setting that says otherwise', () => {
    for (const url of [
      'http://db.example',
      'http://10.0.0.5:8000',
      'http://127.0.0.1.example',
      'HTTP://[2001:db8::1]/',
    ]) {
      expect(refusalOf({ ...REST, [ENV.supabaseUrl]: url })).toMatch(/SUPABASE_URL .*set OMICRON_SUPABASE_TLS=off/);
      expect(refusalOf({ ...REST, [ENV.supabaseUrl]: url, [ENV.supabaseTls]: 'off' })).toBeUndefined();
      expect(() => vaultRestSecrets({ url, serviceRoleKey: PASSWORD })).toThrow(/https/);
    }
    for (const url of ['https://db.example', 'http://127.0.0.1:54321', 'http://localhost', 'http://[::1]:9'])
      expect(refusalOf({ ...REST, [ENV.supabaseUrl]: url })).toBeUndefined();
    expect(refusalOf({ ...REST, [ENV.supabaseUrl]: 'ftp://db.example' })).toMatch(/https URL/);
  });
});
