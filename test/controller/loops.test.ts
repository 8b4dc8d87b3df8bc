import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { ENV } from '../../contract/names.ts';
import { OmicronError } from '../../contract/problem.ts';
import { markLostRunners, removeOrphans } from '../../controller/loops/liveness.ts';
import { poolLoop } from '../../controller/loops/pool.ts';
import type { RunnerProvider } from '../../controller/ports/runners.ts';
import type { Fleet } from '../../controller/store/fleet.ts';
import { eventually } from '../eventually.ts';
import { movableClock } from '../fakes/movable-clock.ts';
import { freshPostgres } from '../postgres.ts';
import { protocol } from './protocol.ts';
import { type Stack, startStack } from './stack.ts';

const log = pino({ level: 'silent' });
const states = async (stack: Stack) => {
  const rows = await stack.database.query<{ state: string; n: number }>(
    `select state, count(*)::int as n from omicron.runners group by state`,
  );
  return Object.fromEntries(rows.map(row => [row.state, row.n]));
};

describe('the pool', () => {
  it('fills up, replaces what was taken, and gives way to a new template', async () => {
    await using stack = await startStack({ OMICRON_POOL_IDLE: 3 });
    await eventually('three warm runners', async () => (await states(stack)).warm === 3);
    await stack.lease();
    await eventually('one more', async () => {
      const now = await states(stack);
      return now.warm === 3 && now.leased === 1;
    });
    const old = new Set(stack.machine.created);
    stack.machine.template = 't2';
    await eventually('only new ones are warm', async () => {
      const rows = await stack.database.query<{ id: string }>(`select id from omicron.runners where state = 'warm'`);
      return rows.length === 3 && rows.every(row => !old.has(row.id));
    });
    await eventually('the old ones are gone from the machine', () => stack.machine.runners.size === 4);
    expect((await states(stack)).leased).toBe(1);
  });

  it('never creates more than the capacity', async () => {
    await using stack = await startStack({ OMICRON_POOL_IDLE: 50, OMICRON_CAPACITY: 4, OMICRON_POOL_BURST: 100 });
    await eventually('four warm runners', async () => (await states(stack)).warm === 4);
    await stack.lease();
    expect(stack.machine.created).toHaveLength(4);
  });

  it('[S8] waits after starts that failed, then tries one at a time, and nothing piles up', async () => {
    const clock = movableClock({ stands: true });
    await using stack = await startStack({ OMICRON_POOL_IDLE: 4, OMICRON_POOL_BURST: 4 }, undefined, clock);
    const failure = new OmicronError('runner_start_failed', 'The disk is full.');
    for (let n = 0; n < 100; n++) stack.machine.failNext(failure);
    const failed = (count: number) =>
      eventually(`${count} failures`, async () => ((await states(stack)).gone ?? 0) >= count);
    await failed(4); // the first burst
    const before = stack.machine.created.length;
    clock.advance(60_000);
    await failed(before + 1);
    expect(stack.machine.created.length - before).toBe(1); // not a burst
    expect(stack.machine.runners.size).toBeLessThanOrEqual(2); // nothing piles up
    expect(stack.logged()).toContain('The disk is full.');
  });

  it('does not try the next start while one that follows a failure is under way, for as long as it would wait for it', async () => {
    const clock = movableClock();
    const p = protocol(await freshPostgres());
    await p.maintenance.setCapacity(10);
    const provider = { name: 'local', templateDigest: async () => 't1' } as RunnerProvider; // all that the pool asks of one
    const kicks = { kickLaunch() {}, kickDrain() {}, onTarget() {} };
    const pool = poolLoop({ fleet: p.fleet, provider, idle: 4, idleMax: 4, burst: 4, ...kicks, clock, log });
    const created = async () => (await p.fleet.take('local', 'creating', 10, 0)).length;
    pool.failed();
    for (const tries of [1, 2]) {
      clock.advance(1_500);
      for (let looks = 0; looks < 3; looks += 1) await pool.runOnce();
      expect(await created()).toBe(tries);
    }
    pool.succeeded();
    await pool.runOnce();
    expect(await created()).toBe(4); // at full speed
  });
});

describe('launch', () => {
  it('takes over what a controller that died had started', async () => {
    const database = await freshPostgres();
    const p = protocol(database);
    await p.maintenance.setCapacity(5);
    await p.fleet.plan('local', 't1', 1, 1);
    const [row] = await p.fleet.take('local', 'creating', 1, 1); // by a worker that falls silent
    await using stack = await startStack({ OMICRON_POOL_IDLE: 1, [ENV.databaseUrl]: database.url });
    await eventually('it is warm', async () => (await p.runner(row?.id ?? '')).state === 'warm');
    expect(stack.machine.created).toEqual([row?.id]);
  });
});

describe('drain', () => {
  it('waits for the recording before a runner is removed and its place given back', async () => {
    await using stack = await startStack({ OMICRON_POOL_IDLE: 0, OMICRON_CAPACITY: 1 });
    const lease = await stack.lease();
    const letGo = stack.machine.hold('upload');
    const path = `/internal/browser-sessions/${lease.session_id}`;
    await stack.call('DELETE', `${path}?epoch=1`);
    const [runner] = [...stack.machine.runners.values()];
    await eventually('the runner has ended', () => runner?.exited);
    expect(runner?.drains).toBe(1);
    expect((await stack.getOrCreate({ user_id: 'bob', wait_seconds: 0 })).status).toBe(429); // still its place
    letGo();
    await eventually('it is gone', () => stack.machine.runners.size === 0);
    await eventually('its place is free', async () => (await stack.getOrCreate({ user_id: 'bob' })).status === 200);
    expect((await stack.call('GET', `${path}/artifacts`)).body).toMatchObject({ artifacts: [{ state: 'stored' }] });
  });

  it('tries again what could not be removed, before another replica may: a stack that stops waits no longer', async () => {
    await using stack = await startStack({ OMICRON_POOL_IDLE: 0 });
    const lease = await stack.lease();
    const notEmpty = 'ENOTEMPTY: directory not empty, rmdir';
    stack.machine.failNext(new OmicronError('store_unavailable', notEmpty), 'remove');
    await stack.call('DELETE', `/internal/browser-sessions/${lease.session_id}`);
    await eventually('it is gone', async () => (await states(stack)).gone === 1, 20_000);
    expect(stack.logged()).toContain(notEmpty);
  });

  it.each(['DELETE', 'archive'])('%s is answered when the runner serves no agent any more, not before', async how => {
    await using stack = await startStack({ OMICRON_POOL_IDLE: 0 });
    const lease = await stack.lease({ record_video: false });
    const path = `/internal/browser-sessions/${lease.session_id}`;
    const [runner] = [...stack.machine.runners.values()];
    const letGo = stack.machine.hold('drain');
    const order: string[] = [];
    const ended = how === 'DELETE' ? stack.call('DELETE', path) : stack.call('POST', `${path}/archive`);
    const answered = ended.then(() => order.push('answered'));
    await eventually('the runner is told', () => runner?.drains === 1);
    expect((await stack.call('GET', path)).body).toMatchObject({ status: 'ended' });
    order.push('runner closed');
    letGo();
    await answered;
    expect(order).toEqual(['runner closed', 'answered']);
    expect(await ended).toMatchObject({ status: 200, body: { status: 'ended' } });
  });

  it('DELETE says that a runner may still serve agents where that is so, and is repeated until it is not', async () => {
    const clock = movableClock();
    await using stack = await startStack({ OMICRON_POOL_IDLE: 0 }, undefined, clock);
    const lease = await stack.lease({ record_video: false });
    const path = `/internal/browser-sessions/${lease.session_id}`;
    const letGo = stack.machine.hold('remove');
    (await stack.machine.leased()).runner.hang(() => clock.advance(11_000));
    expect(await stack.call('DELETE', path)).toMatchObject({ status: 503, body: { code: 'predecessor_draining' } });
    expect((await stack.call('GET', path)).body).toMatchObject({ status: 'ended' });
    letGo();
    expect(await stack.call('DELETE', path)).toMatchObject({ status: 200, body: { status: 'ended' } });
  });

  it('removes a runner that does not answer', async () => {
    const clock = movableClock();
    await using stack = await startStack({ OMICRON_POOL_IDLE: 0 }, undefined, clock);
    const lease = await stack.lease({ record_video: false });
    (await stack.machine.leased()).runner.hang(() => clock.advance(3_000));
    await stack.call('DELETE', `/internal/browser-sessions/${lease.session_id}?epoch=1`);
    await eventually('it is gone', () => stack.machine.runners.size === 0);
    expect(stack.logged()).toContain('runner did not acknowledge its drain');
  });
});

describe('liveness', () => {
  it('makes the lease of a dead runner an error that says so, and records the loss of its video', async () => {
    await using stack = await startStack({ OMICRON_POOL_IDLE: 0 });
    const lease = await stack.lease();
    const [runner] = [...stack.machine.runners.values()];
    runner?.kill();
    const path = `/internal/browser-sessions/${lease.session_id}`;
    await eventually('the session says so', async () => {
      const { body } = await stack.call('GET', path);
      expect(body).toMatchObject({
        status: 'error',
        ended_reason: 'runner_lost',
        error: expect.stringMatching(/ended.*Request a new lease/),
      });
      return true;
    });
    await eventually('nothing is left', () => stack.machine.runners.size === 0);
    const { body } = await stack.call('GET', `${path}/events`);
    expect(JSON.stringify(body)).toContain('runner_lost');
  });

  it('looks at a runner of which a change was seen at once, and at no other', async () => {
    const clock = movableClock();
    const patient = {
      ...clock,
      sleep: (ms: number, ...more: [AbortSignal, boolean?]) => clock.sleep(ms > 1_500 ? 600_000 : ms, ...more),
    };
    await using stack = await startStack({ OMICRON_POOL_IDLE: 0 }, undefined, patient);
    const lease = await stack.lease();
    (await stack.machine.leased()).runner.kill();
    await eventually('the session says so, without a round of the loop', async () => {
      const { body } = await stack.call('GET', `/internal/browser-sessions/${lease.session_id}`);
      return (body as { ended_reason: string | null }).ended_reason === 'runner_lost';
    });

    const p = protocol(await freshPostgres());
    const [changed, other] = await p.warm(2);
    const provider = { name: 'local', deathOf: async () => ({ ended: true, reason: 'It died.' }) };
    const parts = { fleet: p.fleet, provider: provider as unknown as RunnerProvider, log }; // the rest is not called
    await markLostRunners(parts, [changed?.id ?? '']);
    expect((await p.runner(changed?.id ?? '')).state).toBe('draining');
    expect((await p.runner(other?.id ?? '')).state).toBe('warm');
    await markLostRunners(parts);
    expect((await p.runner(other?.id ?? '')).state).toBe('draining');
  });

  it('is not stopped by one item that fails', async () => {
    const p = protocol(await freshPostgres());
    const [bad, good] = await p.warm(2);
    const provider = {
      name: 'local',
      async deathOf(id: string) {
        if (id === bad?.id) throw new Error('the machine does not say');
        return 'It died.';
      },
    } as unknown as RunnerProvider; // the rest is not called
    await markLostRunners({ fleet: p.fleet, provider, log }).catch(() => {});
    expect((await p.runner(good?.id ?? '')).state).toBe('draining');
    expect((await p.runner(bad?.id ?? '')).state).toBe('warm');
  });
});

describe('orphans', () => {
  /** A machine on which a runner appears while orphans are looked for, and the rows that know it. */
  const whileLooking = async (order: 'list first' | 'rows first') => {
    const p = protocol(await freshPostgres());
    await p.maintenance.setCapacity(5);
    const existing = new Set<string>([randomUUID()]); // a true orphan
    const removed: string[] = [];
    const createOne = async () => {
      await p.fleet.plan('local', 't1', 1, 1); // intent first
      const [row] = await p.fleet.take('local', 'creating', 1, 60);
      if (row) existing.add(row.id); // then the effect
    };
    const provider = {
      name: 'local',
      async list() {
        const found = [...existing];
        if (order === 'list first') await createOne();
        return found;
      },
      async remove(id: string) {
        removed.push(id);
        return 'gone' as const;
      },
    } as unknown as RunnerProvider; // the rest is not called
    return { p, provider, existing, removed, createOne };
  };

  it('are removed; a runner that is made between the list and the rows is not (hole 21)', async () => {
    const { p, provider, existing, removed } = await whileLooking('list first');
    const [orphan] = existing;
    await removeOrphans({ fleet: p.fleet, provider, log });
    expect(removed).toEqual([orphan]);
    expect(existing.size).toBe(2);
  });

  it('in the other order the fresh runner is taken for an orphan', async () => {
    const { p, provider, existing, removed, createOne } = await whileLooking('rows first');
    const known = new Set((await p.fleet.living('local')).map(row => row.id));
    await createOne();
    for (const id of await provider.list()) if (!known.has(id)) await provider.remove(id);
    expect(removed).toHaveLength(2);
    expect(existing.size).toBe(2);
  });

  it('that cannot be removed do not keep the others', async () => {
    const { p, provider, existing, removed } = await whileLooking('rows first');
    const [first] = existing;
    existing.add(randomUUID());
    const remove = provider.remove;
    provider.remove = id => (id === first ? Promise.reject(new Error('busy')) : remove(id));
    await removeOrphans({ fleet: p.fleet, provider, log }).catch(() => {});
    expect(removed).toHaveLength(1);
  });
});

it('a fleet row that was claimed between two reads is still lost', async () => {
  const p = protocol(await freshPostgres());
  const [row] = await p.warm(1);
  const leased = await p.lease();
  await (p.fleet satisfies Fleet).markLost(row?.id ?? '', 'ended', 'runner_lost', 'It died.');
  expect(await p.session(leased.session.id)).toMatchObject({ status: 'error', ended_reason: 'runner_lost' });
});
