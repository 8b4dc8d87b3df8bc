import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { PROFILE_LIMITS } from '../../contract/profile.ts';
import type { ProfileStore } from '../../controller/ports/profile-store.ts';
import { freshPostgres } from '../postgres.ts';
import { keeperOn, stateOf } from './keeper.ts';

const objectsIn = async (folder: string): Promise<string[]> =>
  (await readdir(folder, { recursive: true, withFileTypes: true }))
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name));

it('keeps ten versions, goes back to one of them, and leaves nothing of a deleted profile', async () => {
  const database = await freshPostgres();
  const { keeper, profiles, folder, cookieOf } = await keeperOn(database);
  for (let version = 1; version <= 12; version++)
    expect(await keeper.import('ada', 'work', stateOf(`v${version}`))).toBe(version);
  await keeper.sweep();
  const shown = await profiles.show('ada', 'work');
  expect(shown?.versions.map(({ version }) => version)).toEqual([12, 11, 10, 9, 8, 7, 6, 5, 4, 3]);
  expect(shown?.domains).toEqual([{ domain: 'shop.example', expires_at: null, logged_in: true }]);
  expect(await objectsIn(folder)).toHaveLength(PROFILE_LIMITS.versionsMax);
  await expect(keeper.restore('ada', 'work', 2)).rejects.toMatchObject({ code: 'profile_not_found' });
  expect(await keeper.restore('ada', 'work', 3)).toBe(13);
  expect(await cookieOf('ada', 'work')).toBe('v3');
  expect(await keeper.remove('ada', 'work')).toBe(true);
  expect(await keeper.remove('ada', 'work')).toBe(false);
  expect(await objectsIn(folder)).toEqual([]);
  for (const table of ['profiles', 'profile_versions', 'profile_objects', 'profile_keys'])
    expect(await database.query(`select * from omicron.${table}`)).toEqual([]);
});

it('opens an object for its own user, profile and version only, and none that was changed', async () => {
  const database = await freshPostgres();
  const { keeper, folder } = await keeperOn(database);
  await keeper.import('ada', 'work', stateOf('ada-work-1'));
  await keeper.import('ada', 'work', stateOf('ada-work-2'));
  await keeper.import('ada', 'home', stateOf('ada-home'));
  await keeper.import('bob', 'work', stateOf('bob-work'));
  const [head] = await database.query<{ object: string }>(
    `select v.object from omicron.profile_versions v join omicron.profiles p on p.id = v.profile_id and p.version = v.version
      where p.user_id = 'ada' and p.name = 'work'`,
  );
  const path = (await objectsIn(folder)).find(each => each.endsWith(head?.object ?? '?')) ?? '';
  const whole = await readFile(path);
  const damaged = { code: 'profile_unreadable', message: expect.stringContaining('was changed') };
  for (const other of (await objectsIn(folder)).filter(each => each !== path)) {
    await writeFile(path, await readFile(other));
    await expect(keeper.export('ada', 'work')).rejects.toMatchObject(damaged);
  }
  for (const place of [0, 12, 28, whole.length - 1]) {
    const changed = Buffer.from(whole);
    changed.writeUInt8(changed.readUInt8(place) ^ 1, place);
    await writeFile(path, changed);
    await expect(keeper.export('ada', 'work')).rejects.toMatchObject(damaged);
  }
  await writeFile(path, whole.subarray(0, 20));
  await expect(keeper.export('ada', 'work')).rejects.toMatchObject(damaged);
  await writeFile(path, whole);
  expect((await keeper.export('ada', 'work')).toString()).toContain('ada-work-2');
  const elsewhere = await keeperOn(database, { key: 'another key of thirty-two bytes!' });
  await elsewhere.store.put(head?.object ?? '', whole);
  await expect(elsewhere.keeper.export('ada', 'work')).rejects.toMatchObject({
    code: 'profile_unavailable',
    message: expect.stringContaining('key'),
  });
});

it('keeps the last whole version when a save is cut at any step, and sweeps what it left', async () => {
  const database = await freshPostgres();
  const cut = { at: '' };
  const around = (store: ProfileStore): ProfileStore => ({
    async put(name, bytes) {
      if (cut.at === 'before put') throw new Error('cut');
      await store.put(name, cut.at === 'half put' ? bytes.subarray(0, bytes.length / 2) : bytes);
      if (cut.at === 'after put') throw new Error('cut');
    },
    async get(name) {
      if (cut.at === 'read back') return null;
      return store.get(name);
    },
    remove: store.remove,
  });
  const { keeper, profiles, folder, cookieOf } = await keeperOn(database, { around });
  await keeper.import('ada', 'work', stateOf('whole'));
  for (const at of ['before put', 'half put', 'after put', 'read back']) {
    cut.at = at;
    await expect(keeper.import('ada', 'work', stateOf(`new ${at}`))).rejects.toThrow();
    cut.at = '';
    expect(await cookieOf('ada', 'work')).toBe('whole');
  }
  expect((await objectsIn(folder)).length).toBeGreaterThan(1);
  await keeper.sweep(); // young ones may be another save's
  expect((await objectsIn(folder)).length).toBeGreaterThan(1);
  await database.query(`update omicron.profile_objects set since = since - interval '2 hours' where state = 'writing'`);
  await keeper.sweep();
  expect(await objectsIn(folder)).toHaveLength(1);
  expect(await database.query('select * from omicron.profile_objects')).toHaveLength(1);
  expect(await cookieOf('ada', 'work')).toBe('whole');
  expect((await profiles.show('ada', 'work'))?.version).toBe(1);
});

it('never keeps an object that the sweep has taken', async () => {
  const database = await freshPostgres();
  const { keeper, folder, cookieOf } = await keeperOn(database, {
    around: store => ({
      ...store,
      async put(name, bytes) {
        await store.put(name, bytes);
        if (!slow) return;
        await database.query(`update omicron.profile_objects set since = since - interval '2 hours' where name = $1`, [
          name,
        ]);
        await database.query('select omicron.loose_objects(p_most => 9, p_stale_seconds => 3600)');
      },
    }),
  });
  let slow = false;
  await keeper.import('ada', 'work', stateOf('whole'));
  slow = true;
  await expect(keeper.import('ada', 'work', stateOf('slow'))).rejects.toMatchObject({ code: 'profile_unavailable' });
  await keeper.sweep();
  expect(await objectsIn(folder)).toHaveLength(1);
  expect(await cookieOf('ada', 'work')).toBe('whole');
});

it('holds a user to the quota, and no other', async () => {
  const { keeper, cookieOf } = await keeperOn(await freshPostgres(), { quotaBytes: 2_000 });
  const large = () => stateOf(crypto.getRandomValues(Buffer.alloc(600)).toString('base64'));
  await keeper.import('ada', 'one', large());
  await keeper.import('ada', 'two', stateOf('small'));
  await expect(
    keeper.import('ada', 'two', { cookies: [...large().cookies, ...large().cookies], origins: [] }),
  ).rejects.toMatchObject({
    code: 'profile_quota_exceeded',
    message: expect.stringMatching(/take \d+ of 2000 bytes/),
  });
  expect(await cookieOf('ada', 'two')).toBe('small');
  await keeper.import('bob', 'one', large());
});

it('deletes a profile that no lease has used for as long as the deployment keeps one', async () => {
  const database = await freshPostgres();
  const { keeper, profiles, folder } = await keeperOn(database, { retentionDays: 30 });
  await keeper.import('ada', 'old', stateOf('old'));
  await keeper.import('ada', 'new', stateOf('new'));
  await database.query(`update omicron.profiles set last_used_at = last_used_at - interval '29 days'`);
  await keeper.sweep();
  expect(await objectsIn(folder)).toHaveLength(2);
  await database.query(
    `update omicron.profiles set last_used_at = last_used_at - interval '2 days' where name = 'old'`,
  );
  await keeper.sweep();
  expect((await profiles.list('ada')).map(({ name }) => name)).toEqual(['new']);
  expect(await objectsIn(folder)).toHaveLength(1);
});

it('gives a user a profile of any name up to a hundred, and none more', async () => {
  const database = await freshPostgres();
  const { keeper } = await keeperOn(database);
  await database.query(
    `select omicron.make_profile(p_user => 'ada', p_name => 'p' || n) from generate_series(1, 100) n`,
  );
  await expect(keeper.import('ada', 'more', stateOf('x'))).rejects.toMatchObject({ code: 'profile_quota_exceeded' });
  expect(await keeper.import('ada', 'p7', stateOf('x'))).toBe(1);
});
