import { randomUUID } from 'node:crypto';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { vaultKvSecrets } from '../../../controller/secrets/vault-kv.ts';
import { vaultKv } from '../../fakes/vault-kv.ts';
import { secretStoreContract } from './secret-store.contract.ts';

const SECRET = 'hunter2-must-stay-inside';
const TOKEN = `hvs.${randomUUID()}`;
const storeOf = ({ url }: { url: string }, token = TOKEN) => vaultKvSecrets({ url, mount: 'secret', token });

secretStoreContract("in HashiCorp Vault's KV version 2", async () => {
  const vault = await vaultKv(TOKEN);
  return {
    store: storeOf(vault),
    another: storeOf(vault),
    [Symbol.asyncDispose]: () => vault[Symbol.asyncDispose](),
  };
});

describe('[A13] HashiCorp Vault', () => {
  const good = { username: 'u', password: 'p' };

  it('holds one secret a user under a derived name, stored by any client, and keeps fields of others', async () => {
    await using vault = await vaultKv(TOKEN);
    vault.put('pw_site_creds__ada', {
      credentials: { walmart: good, odd: { ...good, note: SECRET } },
      owner: 'platform',
    });
    expect(await storeOf(vault).read('ada')).toEqual({
      credentials: { walmart: good },
      unusable: { odd: expect.stringContaining('"note"') },
    });
    await storeOf(vault).put('ada', 'slack.com', { ...good, url: 'slack.com' });
    expect(vault.stored('pw_site_creds__ada')).toEqual({
      credentials: { walmart: good, odd: { ...good, note: SECRET }, 'slack.com': { ...good, url: 'slack.com' } },
      owner: 'platform',
    });
  });

  it('writes again over a secret that was deleted', async () => {
    await using vault = await vaultKv(TOKEN);
    await storeOf(vault).put('ada', 'walmart', good);
    vault.delete('pw_site_creds__ada');
    expect(await storeOf(vault).read('ada')).toBeNull();
    expect(await storeOf(vault).remove('ada', 'walmart')).toBe(false);
    await storeOf(vault).put('ada', 'slack', good);
    expect((await storeOf(vault).read('ada'))?.credentials).toEqual({ slack: good });
  });

  it.each(['a/b', '../sys', '..', 'ada lovelace', 'ädä', 'a%2fb', 'x?y#z'])(
    'keeps the user %s to a path of its own',
    async user => {
      await using vault = await vaultKv(TOKEN);
      await storeOf(vault).put(user, 'walmart', good);
      expect((await storeOf(vault).read(user))?.credentials).toEqual({ walmart: good });
      expect(new Set(vault.asked.map(line => line.split(' ').at(-1)))).toEqual(new Set(['404', '200']));
    },
  );

  it.each([
    [403, 'token is valid'],
    [503, 'sealed'],
    [500, 'see its log'],
  ])('that answers %d says what to do, without token or value', async (status, said) => {
    await using vault = await vaultKv(TOKEN);
    for (const attempt of [
      () => storeOf(vault).read('ada'),
      () => storeOf(vault).put('ada', 'x', { ...good, password: SECRET }),
    ]) {
      vault.failNext(status);
      const error = await attempt().catch((cause: unknown) => cause);
      expect(error).toMatchObject({ code: 'secrets_unavailable', message: expect.stringContaining(said) });
      for (const hidden of [TOKEN, SECRET]) expect(inspect(error, { depth: 9 })).not.toContain(hidden);
    }
  });

  it('that cannot be reached, or has no such token or form, is said', async () => {
    await using vault = await vaultKv(TOKEN);
    await expect(storeOf({ url: 'http://127.0.0.1:9' }).read('ada')).rejects.toMatchObject({ retryAfterSeconds: 2 });
    await expect(storeOf(vault, 'another').read('ada')).rejects.toThrow(/token is valid/);
    vault.put('pw_site_creds__ada', { walmart: good });
    expect((await storeOf(vault).read('ada'))?.fault).toContain('does not have the form');
    await expect(storeOf(vault).put('ada', 'x', good)).rejects.toThrow(/does not have the form/);
    expect(vault.stored('pw_site_creds__ada')).toEqual({ walmart: good });
  });
});
