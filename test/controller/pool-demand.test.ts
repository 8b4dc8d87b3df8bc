import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { poolLoop } from '../../controller/loops/pool.ts';
import type { RunnerProvider } from '../../controller/ports/runners.ts';
import type { RunnerRow } from '../../controller/store/rows.ts';
import { eventually } from '../eventually.ts';
import { steppedClock } from '../fakes/clock.ts';
import { freshPostgres } from '../postgres.ts';
import { protocol } from './protocol.ts';
import { someUser, startStack } from './stack.ts';

const TICK_MS = 250;
const START_MS = 2_000;
const IDLE = 2;
const SLOW_MS = 10_000;

/** Numbers of 0 to 1, the same at each run. */
function random(seed = 1) {
  let state = seed;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

/** Arrivals of a tick at a rate, of callers that know nothing of each other. */
function arrivals(next: () => number, perSecond: number): number {
  const floor = Math.exp((-perSecond * TICK_MS) / 1_000);
  let count = -1;
  for (let product = 1; product > floor; product *= next()) count += 1;
  return count;
}

/** Claims on a database whose times move with the test's: one a second, then twenty. Says whether each found a warm runner, and the target. */
async function step(idleMax: number, fastMs: number) {
  const database = await freshPostgres();
  const p = protocol(database, { userLimit: 1_000 });
  await p.maintenance.setCapacity(1_000);
  const clock = steppedClock();
  const targets: number[] = [];
  const pool = poolLoop({
    fleet: p.fleet,
    provider: { name: 'local', templateDigest: async () => 't1' } as unknown as RunnerProvider, // the rest is not called
    ...{ idle: IDLE, idleMax, burst: 4, clock, log: pino({ level: 'silent' }) },
    onTarget: target => targets.push(target),
    kickLaunch() {},
    kickDrain() {},
  });
  const launched: { row: RunnerRow; upMs: number }[] = [];
  const waiting = new Map<string, Awaited<ReturnType<typeof p.claim>>>();
  const claims: { atMs: number; warm: boolean }[] = [];
  const redeem = async (claimed: Awaited<ReturnType<typeof p.claim>>) =>
    expect((await p.redeem(claimed, { ready: { mcpUrl: 'http://r/mcp', workload: null, prefix: 'p/' } })).outcome).toBe(
      'redeemed',
    );

  const next = random();
  let tickMs = performance.now();
  for (let nowMs = 0; nowMs < SLOW_MS + fastMs; nowMs += TICK_MS) {
    await pool.runOnce();
    for (const row of await p.fleet.take('local', 'creating', 1_000, 600))
      launched.push({ row, upMs: nowMs + START_MS });
    for (const { row } of launched.filter(({ upMs }) => upMs === nowMs)) {
      await p.fleet.markUp(row.id, randomUUID(), 'http://r');
      const claimed = waiting.get(row.id);
      if (!claimed) continue;
      const runner = await p.leases.beginAssignment(p.claimOf(claimed));
      if (runner) await redeem({ ...claimed, runner });
    }
    for (let left = arrivals(next, nowMs < SLOW_MS ? 1 : 20); left > 0; left--) {
      const claimed = await p.claim({ userId: randomUUID() });
      const warm = claimed.runner.state === 'claimed';
      claims.push({ atMs: nowMs, warm });
      if (warm) await redeem(claimed);
      else waiting.set(claimed.runner.id, claimed);
    }
    clock.advance(TICK_MS);
    // A tick is as long by the database's clock, however fast this machine is.
    const laterMs = TICK_MS - (performance.now() - tickMs);
    tickMs = performance.now();
    const age = (...columns: string[]) =>
      columns.map(each => `${each} = ${each} - interval '${laterMs} ms'`).join(', ');
    await database.script(
      `update omicron.runners set ${age('created_at', 'launched_at', 'warm_at', 'redeemed_at', 'assigned_at')} where state <> 'gone';
       update omicron.browser_sessions set ${age('starting_since')}`,
    );
  }
  const warm = claims.filter(({ atMs }) => atMs >= SLOW_MS + START_MS).map(each => each.warm);
  return { targets, claims: warm.length, warm: warm.filter(Boolean).length / warm.length };
}

it('a step from 1 to 20 claims a second finds a warm runner for 95 % after the first start time', async () => {
  const { warm, claims } = await step(500, START_MS + 40_000);
  expect(claims).toBeGreaterThan(40 * 20 * 0.9);
  expect(warm).toBeGreaterThanOrEqual(0.95);
});

it('the pool holds no more than its maximum, and no fewer than its minimum', async () => {
  const { targets, warm } = await step(20, START_MS + 4_000);
  expect([Math.min(...targets), Math.max(...targets)]).toEqual([IDLE, 20]);
  expect(warm).toBeLessThan(0.9); // too small for this demand
});

it('a deployment whose pool has a maximum makes runners for a burst of claims, and reports its size', async () => {
  await using stack = await startStack({ OMICRON_POOL_IDLE: 1, OMICRON_POOL_IDLE_MAX: 30, OMICRON_CAPACITY: 100 });
  const target = async () => {
    const { body } = await stack.call('GET', '/metrics', { token: null });
    return Number(/^omicron_pool_target (\d+)$/m.exec(String(body))?.[1]);
  };
  await eventually('the minimum', async () => (await target()) === 1);
  stack.machine.warmMs = 2_000;
  const grown = eventually('a larger size', async () => (await target()) > 5);
  await Promise.all(Array.from({ length: 12 }, () => stack.lease({ user_id: someUser(), wait_seconds: 60 })));
  await grown;
  await eventually('runners for claims that may come', async () => {
    const [row] = await stack.database.query<{ warm: number }>(
      `select count(*)::int as warm from omicron.runners where state = 'warm'`,
    );
    return (row?.warm ?? 0) > 5;
  });
});
