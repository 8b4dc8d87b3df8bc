import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { SecretStore } from '../../../controller/ports/secrets.ts';

export interface StoreUnderTest extends AsyncDisposable {
  store: SecretStore;
  /** Another replica's; the same one where there can be only one. */
  another: SecretStore;
}

/** One contract for every vault of site credentials. */
export function secretStoreContract(name: string, open: () => Promise<StoreUnderTest>): void {
  describe(`the secret store ${name}`, () => {
    it('stores, replaces, lists and removes, one user at a time', async () => {
      await using under = await open();
      const { store } = under;
      const [ada, bob] = [randomUUID(), randomUUID()];
      expect(await store.read(ada)).toBeNull();
      await store.put(ada, 'walmart', { username: 'ada', password: 'first' });
      await store.put(ada, 'slack.com', { username: 'ada@x', password: 'p' });
      await store.put(ada, 'walmart', { username: 'ada', password: 'second' });
      await store.put(bob, 'walmart', { username: 'bob', password: 'his' });
      expect(await store.read(ada)).toEqual({
        credentials: {
          walmart: { username: 'ada', password: 'second' },
          'slack.com': { username: 'ada@x', password: 'p' },
        },
        unusable: {},
      });
      expect(await store.remove(ada, 'walmart')).toBe(true);
      expect(await store.remove(ada, 'walmart')).toBe(false);
      expect(await store.remove(randomUUID(), 'walmart')).toBe(false);
      expect(await store.read(ada)).toMatchObject({
        credentials: { 'slack.com': { username: 'ada@x', password: 'p' } },
      });
      expect(await store.read(bob)).toMatchObject({ credentials: { walmart: { username: 'bob', password: 'his' } } });
      expect(await store.remove(ada, 'slack.com')).toBe(true);
      expect((await store.read(ada))?.credentials ?? {}).toEqual({});
    });

    it('keeps where a credential may be filled, as an origin or a domain', async () => {
      await using under = await open();
      const user = randomUUID();
      const url = ['walmart.com', 'https://login.wal.example'];
      await under.store.put(user, 'walmart', { username: 'u', password: 'p', url });
      expect((await under.another.read(user))?.credentials.walmart?.url).toEqual(url);
    });

    it.each([
      ['quotes and braces', `'"; drop table x; -- {}[]\\ \\u0041 $$ %s`],
      ['letters of every kind', 'pässwörd 🦊 字 العربية'],
      ['the longest password', 'x'.repeat(4096)],
      ['newlines', 'a\nb\r\tc'],
    ])('keeps %s as they are, in values and in user ids', async (_what, value) => {
      await using under = await open();
      const user = `${value.slice(0, 100)}-${randomUUID()}`;
      await under.store.put(user, 'site', { username: value, password: value });
      expect(await under.another.read(user)).toMatchObject({
        credentials: { site: { username: value, password: value } },
      });
    });

    it.each(['constructor', 'toString', 'a-b', 'A1', '0'])('takes %s for a site like any other', async site => {
      await using under = await open();
      const user = randomUUID();
      expect(await under.store.remove(user, site)).toBe(false);
      await under.store.put(user, site, { username: 'u', password: 'p' });
      expect(Object.keys((await under.store.read(user))?.credentials ?? {})).toEqual([site]);
      expect(await under.store.remove(user, site)).toBe(true);
    });

    it('loses nothing when many are stored and removed at once, on two replicas', async () => {
      await using under = await open();
      const user = randomUUID();
      for (let n = 0; n < 10; n++) await under.store.put(user, `old${n}`, { username: 'u', password: 'p' });
      await Promise.all([
        ...Array.from({ length: 20 }, (_, n) =>
          (n % 2 ? under.store : under.another).put(user, `new${n}`, { username: 'u', password: `p${n}` }),
        ),
        ...Array.from({ length: 10 }, (_, n) => (n % 2 ? under.store : under.another).remove(user, `old${n}`)),
      ]);
      const credentials = (await under.another.read(user))?.credentials ?? {};
      expect(Object.keys(credentials).sort()).toEqual(Array.from({ length: 20 }, (_, n) => `new${n}`).sort());
      expect(credentials.new7?.password).toBe('p7');
    });
  });
}
