import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { expect, it } from 'vitest';
import type { LeaseKey } from '../../contract/lease-key.ts';
import { OmicronError } from '../../contract/problem.ts';
import { type ProfileContent, type ProfileFiles, profileContent } from '../../contract/profile.ts';
import { packChunks, unpackChunks } from '../../contract/profile-chunks.ts';
import type { ProfileStore } from '../../controller/ports/profile-store.ts';
import { objectName } from '../../controller/profiles/sealed.ts';
import { protocol } from '../controller/protocol.ts';
import { freshPostgres } from '../postgres.ts';
import { openSearch, randomOf } from '../search.ts';
import { contentOf, keeperOn, stateOf } from './keeper.ts';

const search = openSearch();
/** Each is the life of one user's profile. How to run 100,000: docs/profiles.md. */
const HISTORIES = search.countOf(720);
/** With fewer histories, some seeds reach too few of each kind. */
const ENOUGH = 100;
const SEED = search.seed;
const STEPS = 12;
/** Few, so that versions are dropped within a history. */
const VERSIONS = 3;
/** Histories that run side by side, each lane on a database and a folder of its own: one waits while another computes. */
const LANES = 4;
const WORK = { name: 'work', mode: 'read-write' } as const;
/** The point at which a write of an object is cut, as by the end of its controller. */
const CUTS = ['none', 'none', 'none', 'before put', 'half put', 'after put', 'before commit'] as const;

type Chunk = ProfileFiles['chunks'][number];
const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
const chunkOf = (value: string, place = 0) => {
  const bytes = Buffer.from(`chunk ${place} of ${value}`);
  return { sha256: sha256(bytes), bytes };
};

const reached = { saves: 0, cuts: 0, complete: 0, leases: 0, meanwhile: 0 };

it(`[N10] ${HISTORIES} histories from seed ${SEED}: no acknowledged save is lost, none is mixed, no version loses an object`, {
  timeout: 60_000 + HISTORIES * 1_000,
}, async () => {
  let next = SEED;
  const lanes = await Promise.all(Array.from({ length: LANES }, lane));
  await Promise.all(
    lanes.map(async ({ live }) => {
      while (next < SEED + HISTORIES) {
        const seed = next++;
        await live(seed).catch(cause => {
          next = Infinity; // the other lanes end with the history that they are in
          throw new Error(`OMICRON_SEARCH_CASES=1 OMICRON_SEARCH_SEED=${seed}: ${cause.message}`, { cause });
        });
      }
    }),
  );
  for (const { left } of lanes) expect(await left()).toEqual([]);
  process.stdout.write(`${HISTORIES} histories from seed ${SEED}: ${JSON.stringify(reached)}\n`);
  if (HISTORIES >= ENOUGH) for (const count of Object.values(reached)) expect(count).toBeGreaterThan(HISTORIES / 5);
});

/** A store on a database and a folder of its own, whose users live one after the other. */
async function lane() {
  const database = await freshPostgres(2);
  const p = protocol(database, { userLimit: 20 });
  let cut: (typeof CUTS)[number] = 'none';
  /** Objects that a save writes before it is cut: some chunks of a request are stored then, and others are not. */
  let uncut = 0;
  const isCut = (at: typeof cut) => {
    if (cut !== at) return false;
    if (uncut === 0) reached.cuts += 1;
    return uncut-- <= 0;
  };
  /** Events between the writing of a save and its commit. */
  let meanwhile = async () => {};
  /** Objects that were written whole and are not removed. Nothing is written twice, so what is in here is as it was. */
  const stored = new Set<string>();
  const { keeper, store, folder, cookieOf } = await keeperOn(database, {
    versionsMax: VERSIONS,
    around: (inner): ProfileStore => ({
      ...inner,
      async put(name, bytes) {
        if (isCut('before put')) throw new Error('cut');
        expect(stored.has(name)).toBe(false);
        if (isCut('half put')) return inner.put(name, bytes.subarray(0, bytes.length / 2));
        await inner.put(name, bytes);
        stored.add(name);
        if (isCut('after put')) throw new Error('cut');
      },
      async get(name) {
        if (isCut('before commit')) throw new Error('cut');
        const written = await inner.get(name);
        await meanwhile();
        return written;
      },
      async remove(name) {
        stored.delete(name);
        await inner.remove(name);
      },
    }),
  });
  let warm = 0;

  const live = async (seed: number) => {
    const random = randomOf(seed);
    const roll = (sides: number) => Math.floor(random() * sides);
    const userId = `u${seed}`;
    await keeper.import(userId, 'work', stateOf('0'));
    /** Every runner that ever had the profile, however long ago, with the version that it knows and that version's chunks. */
    const runners: { lease: LeaseKey; base: number; chunks: readonly Chunk[] }[] = [];
    let acknowledged = { version: 1, value: '0' };

    /** Resolves with the version, or null: the save was cut or refused. */
    const save = async (value: string, write: () => Promise<number>) => {
      try {
        const version = await write();
        expect(version).toBe(acknowledged.version + 1);
        acknowledged = { version, value };
        reached.saves += 1;
        return version;
      } catch (error) {
        if (!(error instanceof OmicronError)) expect((error as Error).message).toBe('cut');
        return null;
      } finally {
        cut = 'none';
        meanwhile = async () => {};
      }
    };
    const maybeCut = () => {
      cut = CUTS[roll(CUTS.length)] ?? 'none';
      uncut = roll(3);
    };
    const startLease = async () => {
      if (warm === 0) warm = (await p.warm(40)).length;
      const acquired = await p.acquire({ userId, conversationId: `c${roll(3)}`, profile: WORK });
      if (acquired.outcome !== 'claimed') return;
      warm -= 1;
      const redeemed = await p.redeem(acquired);
      if (redeemed.outcome !== 'redeemed') return void (await p.leases.fail(p.claimOf(acquired), 'released', 'waits'));
      await p.makeReady(acquired);
      const lease = p.leaseOf(acquired);
      const { version, json } = await keeper.ofLease(lease);
      const { state, files } = profileContent.parse(JSON.parse(String(json)));
      expect([version, state.cookies[0]?.value]).toEqual([acknowledged.version, acknowledged.value]);
      const chunks = files?.chunks ?? [];
      const objects = chunks.map(({ object }) => object);
      expect((await keeper.readChunks(lease, objects)).map(sha256)).toEqual(chunks.map(chunk => chunk.sha256));
      if (files !== null) expect(chunks.at(-1)?.sha256).toBe(chunkOf(acknowledged.value).sha256);
      runners.push({ lease, base: version, chunks });
      reached.leases += 1;
    };
    const saveOfAny = async (step: number) => {
      const runner = runners[roll(runners.length)];
      if (runner === undefined) return;
      const { lease, base, chunks } = runner;
      const value = `${step}`;
      const isComplete = roll(3) > 0;
      let content: ProfileContent = contentOf(value);
      const version = await save(value, async () => {
        if (isComplete) {
          maybeCut();
          const plain = Array.from({ length: 1 + roll(3) }, (_, place) => chunkOf(value, place)).reverse();
          const objects = await keeper.writeChunks(lease, base, unpackChunks(packChunks(plain)));
          expect(objects).toHaveLength(plain.length);
          // each is what its name says before the version that names it is asked for
          const stored = await Promise.all(objects.map(object => store.get(object)));
          expect(stored.map(sealed => sealed && objectName(sealed))).toEqual(objects);
          const added = plain.map(({ sha256, bytes }, place) => ({
            object: objects[place] ?? '',
            sha256,
            bytes: bytes.length,
          }));
          content = { ...content, files: { chromium: 150, files: [], chunks: [...chunks.slice(-2), ...added] } };
        }
        if (roll(8) === 0) await late();
        if (cut === 'none') maybeCut();
        if (roll(3) === 0) meanwhile = others(step);
        return keeper.saveFor(lease, base, content);
      });
      if (version === null) return;
      expect(runner).toBe(runners.at(-1)); // the last one that began with the profile is its one writer
      Object.assign(runner, { base: version, chunks: content.files?.chunks ?? [] });
      if (isComplete) reached.complete += 1;
    };
    /** The sweep takes what no version names yet. */
    const late = async () => {
      await database.query(`update omicron.profile_objects set since = since - interval '2 hours'`);
      await keeper.sweep();
    };
    const ofSome = (work: (lease: LeaseKey) => Promise<unknown>) => async () => {
      const runner = runners[roll(runners.length)];
      if (runner !== undefined) await work(runner.lease);
    };
    const ofLast = (work: (lease: LeaseKey) => Promise<unknown>) => async () => {
      const runner = runners.at(-1);
      if (runner !== undefined) await work(runner.lease);
    };
    const lose = ({ runner_id }: LeaseKey) =>
      p.fleet.markLost(runner_id, 'leaving', 'runner_lost', 'it is not heard of');
    const events = [
      async (step: number) => {
        maybeCut();
        await save(`${step}`, () => keeper.import(userId, 'work', stateOf(`${step}`)));
      },
      ofLast(({ session_id, epoch }) => p.leases.end(session_id, null, epoch, 'released')),
      ofLast(({ session_id }) => p.age(session_id, 601)),
      ofSome(lease => keeper.release(lease)),
      ofSome(lose),
      () =>
        database.query(
          `update omicron.runners set draining_at = draining_at - interval '21 seconds' where state = 'draining'`,
        ),
      late,
      () => keeper.sweep(),
    ];

    // what matters most comes most often
    const steps = [startLease, startLease, saveOfAny, saveOfAny, saveOfAny, saveOfAny, ...events];
    /** Once: some events, after which another lease may begin. */
    const others = (step: number) => async () => {
      meanwhile = async () => {};
      const kept = cut;
      cut = 'none';
      for (let place = 1; place <= 3; place++) await events[roll(events.length)]?.(step * 10 + place);
      await startLease();
      cut = kept;
      reached.meanwhile += 1;
    };

    let read = '';
    /** The invariants after each step, in one read of the database. The current version is opened when it is another one. */
    const check = async () => {
      const [row] = await database.query<{ writers: number; head: string; version: number; named: string[] }>(
        `select p.version, v.object as head,
            (select count(*)::int from omicron.browser_sessions where user_id = p.user_id and status in ('starting', 'ready')
              and expires_at > clock_timestamp() and options ? 'profile') as writers,
            array(select object from omicron.profile_versions union all select object from omicron.profile_version_chunks) as named
          from omicron.profiles p join omicron.profile_versions v on v.profile_id = p.id and v.version = p.version
          where p.user_id = $1 and p.name = 'work'`,
        [userId],
      );
      expect(row?.writers).toBeLessThanOrEqual(1);
      expect(row?.version).toBe(acknowledged.version);
      expect(row?.named.filter(object => !stored.has(object))).toEqual([]);
      if (row?.head === read) return;
      expect(await cookieOf(userId, 'work')).toBe(acknowledged.value);
      read = row?.head ?? '';
    };

    await startLease();
    for (let step = 1; step <= STEPS; step++) {
      await steps[roll(steps.length)]?.(step);
      await check();
    }
    expect(await cookieOf(userId, 'work')).toBe(acknowledged.value);
    for (const object of stored) expect(await store.get(object)).not.toBeNull();
    for (const { lease } of runners) {
      await lose(lease);
      await keeper.release(lease);
      await p.fleet.markGone(lease.runner_id);
    }
    await keeper.remove(userId, 'work');
    await database.query(`update omicron.profile_objects set since = since - interval '2 hours'`);
    await keeper.sweep();
    expect(await database.query('select name from omicron.profile_objects')).toEqual([]);
  };

  /** Files that are left once every user is gone. */
  const left = async () => {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    return entries.filter(entry => entry.isFile()).map(({ name }) => name);
  };
  return { live, left };
}
