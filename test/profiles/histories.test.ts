import { expect, it } from 'vitest';
import type { LeaseKey } from '../../contract/lease-key.ts';
import { OmicronError } from '../../contract/problem.ts';
import type { ProfileStore } from '../../controller/ports/profile-store.ts';
import { randomOf } from '../controller/model-replay.ts';
import { protocol } from '../controller/protocol.ts';
import { freshPostgres } from '../postgres.ts';
import { contentOf, keeperOn, stateOf } from './keeper.ts';

const WORK = { name: 'work', mode: 'read-write' } as const;
const STEPS = 200;
/** Where a save is cut, as by the end of its controller. */
const CUTS = ['none', 'none', 'before put', 'after put', 'before commit'] as const;

it.each([1, 2, 3])(
  'walk %i: no acknowledged save is lost, none is mixed, and no version loses its object',
  async seed => {
    const random = randomOf(seed);
    const roll = (sides: number) => Math.floor(random() * sides);
    const database = await freshPostgres();
    const p = protocol(database, { userLimit: 20 });
    let cut: (typeof CUTS)[number] = 'none';
    const { keeper, profiles, store, cookieOf } = await keeperOn(database, {
      around: (inner): ProfileStore => ({
        ...inner,
        async put(name, bytes) {
          if (cut === 'before put') throw new Error('cut');
          await inner.put(name, bytes);
          if (cut === 'after put') throw new Error('cut');
        },
        async get(name) {
          if (cut === 'before commit') throw new Error('cut');
          return inner.get(name);
        },
      }),
    });
    await keeper.import('ada', 'work', stateOf('0'));
    /** Every runner that ever had the profile, however long ago, and the version that it knows. */
    const runners: { lease: LeaseKey; base: number }[] = [];
    let acknowledged = { version: 1, value: '0' };

    const save = async (write: () => Promise<number>, base: number | null, value: string) => {
      cut = CUTS[roll(CUTS.length)] ?? 'none';
      try {
        const version = await write();
        expect(version).toBe(acknowledged.version + 1);
        if (base !== null) expect(version).toBe(base + 1);
        acknowledged = { version, value };
        return version;
      } catch (error) {
        if (!(error instanceof OmicronError)) expect((error as Error).message).toBe('cut');
        return base ?? 0;
      } finally {
        cut = 'none';
      }
    };
    const startLease = async () => {
      await p.warm(1);
      const acquired = await p.acquire({ conversationId: `c${roll(3)}`, profile: WORK });
      if (acquired.outcome !== 'claimed') return;
      const redeemed = await p.redeem(acquired);
      if (redeemed.outcome !== 'redeemed') return void (await p.leases.fail(p.claimOf(acquired), 'released', 'waits'));
      await p.makeReady(acquired);
      const lease = p.leaseOf(acquired);
      const { version, json } = await keeper.ofLease(lease);
      expect(version).toBe(acknowledged.version);
      expect(json?.toString()).toContain(`"value":"${acknowledged.value}"`);
      runners.push({ lease, base: version });
    };
    const saveOfAny = async (step: number) => {
      const runner = runners[roll(runners.length)];
      if (runner === undefined) return;
      runner.base = await save(
        () => keeper.saveFor(runner.lease, runner.base, contentOf(`${step}`)),
        runner.base,
        `${step}`,
      );
    };
    // what matters most comes most often
    const steps = [
      ...[startLease, startLease, saveOfAny, saveOfAny, saveOfAny],
      (step: number) => save(() => keeper.import('ada', 'work', stateOf(`${step}`)), null, `${step}`),
      async () => {
        const runner = runners.at(-1);
        if (runner) await p.leases.end(runner.lease.session_id, null, runner.lease.epoch, 'released');
      },
      async () => {
        const runner = runners.at(-1);
        if (runner) await p.age(runner.lease.session_id, 601);
      },
      async () => {
        const runner = runners[roll(runners.length)];
        if (runner) await keeper.release(runner.lease);
      },
      async () => {
        const runner = runners[roll(runners.length)];
        if (runner) await p.fleet.markLost(runner.lease.runner_id, 'leaving', 'runner_lost', 'it is not heard of');
      },
      () =>
        database.query(
          `update omicron.runners set draining_at = draining_at - interval '21 seconds' where state = 'draining'`,
        ),
      () =>
        database.query(`update omicron.profile_objects set since = since - interval '2 hours' where state = 'writing'`),
      () => keeper.sweep(),
    ];

    for (let step = 1; step <= STEPS; step++) {
      await steps[roll(steps.length)]?.(step);
      const [live] = await database.query<{ writers: number }>(
        `select count(*)::int as writers from omicron.browser_sessions
        where status in ('starting', 'ready') and expires_at > clock_timestamp() and options ? 'profile'`,
      );
      expect(live?.writers).toBeLessThanOrEqual(1);
      expect(await cookieOf('ada', 'work')).toBe(acknowledged.value);
    }
    const kept = await database.query<{ object: string }>('select object from omicron.profile_versions');
    for (const { object } of kept) expect(await store.get(object)).not.toBeNull();
    expect((await profiles.show('ada', 'work'))?.version).toBe(acknowledged.version);
    expect(acknowledged.version).toBeGreaterThan(3);
    expect(runners.length).toBeGreaterThan(3);
  },
);
