import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { expect, it } from 'vitest';
import type { LeaseKey } from '../../contract/lease-key.ts';
import { OmicronError } from '../../contract/problem.ts';
import { type ProfileContent, type ProfileFiles, profileContent } from '../../contract/profile.ts';
import { packChunks, unpackChunks } from '../../contract/profile-chunks.ts';
import type { ProfileStore } from '../../controller/ports/profile-store.ts';
import { objectName } from '../../controller/profiles/sealed.ts';
import { randomOf } from '../controller/model-replay.ts';
import { protocol } from '../controller/protocol.ts';
import { freshPostgres } from '../postgres.ts';
import { contentOf, keeperOn, stateOf } from './keeper.ts';

/** Each is the life of one user's profile. `TMPDIR=/dev/shm OMICRON_TEST_HISTORIES=100000` takes some hours. */
const HISTORIES = Number(process.env.OMICRON_TEST_HISTORIES ?? 60);
const SEED = Number(process.env.OMICRON_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));
const STEPS = 12;
const WORK = { name: 'work', mode: 'read-write' } as const;
/** Where a write of an object is cut, as by the end of its controller. */
const CUTS = ['none', 'none', 'none', 'before put', 'half put', 'after put', 'before commit'] as const;

type Chunk = ProfileFiles['chunks'][number];
const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
const chunkOf = (value: string, place = 0) => {
  const bytes = Buffer.from(`chunk ${place} of ${value}`);
  return { sha256: sha256(bytes), bytes };
};

it(`[N10] ${HISTORIES} histories from seed ${SEED}: no acknowledged save is lost, none is mixed, no version loses an object`, {
  timeout: 60_000 + HISTORIES * 1_000,
}, async () => {
  const database = await freshPostgres();
  const p = protocol(database, { userLimit: 20 });
  let cut: (typeof CUTS)[number] = 'none';
  /** Objects that a save writes before it is cut: some chunks of a request are stored then, and others are not. */
  let uncut = 0;
  const isCut = (at: typeof cut) => {
    if (cut !== at) return false;
    if (uncut === 0) reached.cuts += 1;
    return uncut-- <= 0;
  };
  const { keeper, store, folder, cookieOf } = await keeperOn(database, {
    around: (inner): ProfileStore => ({
      ...inner,
      async put(name, bytes) {
        if (isCut('before put')) throw new Error('cut');
        await inner.put(name, isCut('half put') ? bytes.subarray(0, bytes.length / 2) : bytes);
        if (isCut('after put')) throw new Error('cut');
      },
      async get(name) {
        if (isCut('before commit')) throw new Error('cut');
        return inner.get(name);
      },
    }),
  });
  let warm = 0;
  const reached = { saves: 0, cuts: 0, complete: 0, leases: 0 };

  for (let history = 0; history < HISTORIES; history++) {
    const random = randomOf(SEED + history);
    const roll = (sides: number) => Math.floor(random() * sides);
    const userId = `u${history}`;
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
        return keeper.saveFor(lease, base, content);
      });
      if (version === null) return;
      Object.assign(runner, { base: version, chunks: content.files?.chunks ?? [] });
      if (isComplete) reached.complete += 1;
    };
    /** The sweep takes what no version names yet. */
    const late = async () => {
      await database.query(
        `update omicron.profile_objects set since = since - interval '2 hours' where state = 'writing'`,
      );
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
    // what matters most comes most often
    const steps = [
      ...[startLease, startLease, saveOfAny, saveOfAny, saveOfAny, saveOfAny],
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

    await startLease();
    for (let step = 1; step <= STEPS; step++) {
      await steps[roll(steps.length)]?.(step);
      const [live] = await database.query<{ writers: number }>(
        `select count(*)::int as writers from omicron.browser_sessions
          where user_id = $1 and status in ('starting', 'ready') and expires_at > clock_timestamp() and options ? 'profile'`,
        [userId],
      );
      expect(live?.writers).toBeLessThanOrEqual(1);
      expect(await cookieOf(userId, 'work')).toBe(acknowledged.value);
    }
    const kept = await database.query<{ object: string }>(
      'select object from omicron.profile_versions union select object from omicron.profile_version_chunks',
    );
    for (const { object } of kept) expect(await store.get(object)).not.toBeNull();
    for (const { lease } of runners) {
      await lose(lease);
      await keeper.release(lease);
      await p.fleet.markGone(lease.runner_id);
    }
    await keeper.remove(userId, 'work');
    await database.query(`update omicron.profile_objects set since = since - interval '2 hours'`);
    await keeper.sweep();
    expect(await database.query('select name from omicron.profile_objects')).toEqual([]);
  }
  const left = await readdir(folder, { recursive: true, withFileTypes: true });
  expect(left.filter(entry => entry.isFile()).map(({ name }) => name)).toEqual([]);
  process.stdout.write(`${HISTORIES} histories: ${JSON.stringify(reached)}\n`);
  for (const count of Object.values(reached)) expect(count).toBeGreaterThan(HISTORIES / 5);
});
