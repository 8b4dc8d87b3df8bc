import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { vaultKvSecrets } from '../../../controller/secrets/vault-kv.ts';
import { secretStoreContract } from './secret-store.contract.ts';
import { type VaultServer, vaultServer } from './vault-server.ts';

// `npm run vault`: what vault-kv.test.ts shows on Vault's documented wire, on Vault.

let vault: VaultServer;
beforeAll(async () => {
  vault = await vaultServer();
});
afterAll(() => vault?.[Symbol.dispose]());
const storeOf = (mount: string, token = vault.token) => vaultKvSecrets({ url: vault.url, mount, token });
const good = { username: 'u', password: 'p' };

secretStoreContract('in a HashiCorp Vault server', async () => {
  const mount = await vault.mount();
  return { store: storeOf(mount), another: storeOf(mount), [Symbol.asyncDispose]: async () => {} };
});

describe('a HashiCorp Vault server', () => {
  it('holds one secret a user under a derived name, stored by any client, and keeps fields of others', async () => {
    const mount = await vault.mount();
    const name = `${mount}/data/pw_site_creds__ada`;
    await vault.request('POST', name, { data: { credentials: { walmart: good }, owner: 'platform' } });
    await storeOf(mount).put('ada', 'slack.com', good);
    expect(await vault.request('GET', name)).toMatchObject({
      data: {
        data: { credentials: { walmart: good, 'slack.com': good }, owner: 'platform' },
        metadata: { version: 2 },
      },
    });
  });

  it('writes again over a secret that was deleted', async () => {
    const mount = await vault.mount();
    await storeOf(mount).put('ada', 'walmart', good);
    await vault.request('DELETE', `${mount}/data/pw_site_creds__ada`);
    expect(await storeOf(mount).read('ada')).toBeNull();
    expect(await storeOf(mount).remove('ada', 'walmart')).toBe(false);
    await storeOf(mount).put('ada', 'slack', good);
    expect((await storeOf(mount).read('ada'))?.credentials).toEqual({ slack: good });
  });

  it('keeps every user to a path of its own', async () => {
    const mount = await vault.mount();
    const users = ['a/b', '../sys', '..', 'ada lovelace', 'ädä', 'a%2fb', 'x?y#z'];
    for (const user of users) await storeOf(mount).put(user, 'walmart', { ...good, username: user });
    for (const user of users)
      expect((await storeOf(mount).read(user))?.credentials).toEqual({ walmart: { ...good, username: user } });
    expect(await vault.request('LIST', `${mount}/metadata`)).toMatchObject({
      data: { keys: { length: users.length } },
    });
  });

  it('needs the rights that docs/operations.md names, and no more', async () => {
    const mount = await vault.mount();
    const policy = `path "${mount}/data/pw_site_creds__*" { capabilities = ["create", "read", "update"] }`;
    await vault.request('PUT', `sys/policies/acl/${mount}`, { policy });
    const made = await vault.request('POST', 'auth/token/create', { policies: [mount], period: '1h' });
    const store = storeOf(mount, (made as { auth: { client_token: string } }).auth.client_token); // its documented answer
    await store.put('ada', 'walmart', good);
    expect((await store.read('ada'))?.credentials).toEqual({ walmart: good });
    expect(await store.remove('ada', 'walmart')).toBe(true);
  });

  it('that takes no such token, has no such mount or is sealed is said', async () => {
    const mount = await vault.mount();
    const said = (store: ReturnType<typeof storeOf>) => expect(store.put('ada', 'x', good)).rejects;
    await said(storeOf(mount, randomUUID())).toMatchObject({ message: expect.stringContaining('token is valid') });
    await said(storeOf('nowhere')).toMatchObject({ code: 'secrets_unavailable' });
    await vault.request('PUT', 'sys/seal'); // the last test: it stays sealed
    await said(storeOf(mount)).toMatchObject({ message: expect.stringContaining('sealed'), retryAfterSeconds: 2 });
  });
});
