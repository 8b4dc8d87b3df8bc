import { pino } from 'pino';
import { expect, it } from 'vitest';
import { poolLoop } from '../../../controller/loops/pool.ts';
import type { RunnerProvider } from '../../../controller/ports/runners.ts';
import type { Fleet } from '../../../controller/store/fleet.ts';
import { steppedClock } from '../../fakes/clock.ts';

/** A pool of three on rows that want a runner each time, and how many it might create in each step; by demand where it has a maximum. */
function pool(idleMax = 3, demand = { runners: 0, awaited: 0 }) {
  const clock = steppedClock();
  const bursts: number[] = [];
  const targets: number[] = [];
  let demands = 0;
  const kicks = { launch: 0, drain: 0 };
  const fleet = {
    async plan(_provider: string, _digest: string, idle: number, burst: number) {
      bursts.push(burst);
      targets.push(idle);
      return 1;
    },
    async demand() {
      demands += 1;
      return demand;
    },
  } as unknown as Fleet; // the rest is not called
  const reported: number[] = [];
  const provider = { name: 'fake', templateDigest: async () => 't1' } as unknown as RunnerProvider; // the rest is not called
  const made = poolLoop({
    fleet,
    provider,
    idle: 3,
    idleMax,
    onTarget: target => reported.push(target),
    burst: 4,
    kickLaunch: () => kicks.launch++,
    kickDrain: () => kicks.drain++,
    clock,
    log: pino({ level: 'silent' }),
  });
  return { ...made, clock, bursts, targets, reported, kicks, demands: () => demands };
}

it('creates runners in bursts, and wakes the loops that start and drain them', async () => {
  const { runOnce, bursts, kicks } = pool();
  await runOnce();
  expect(bursts).toEqual([4]);
  expect(kicks).toEqual({ launch: 1, drain: 1 });
});

it('holds its size, and asks for no demand, unless it has a maximum above that', async () => {
  const { runOnce, targets, demands } = pool();
  await runOnce();
  expect([targets, demands()]).toEqual([[3], 0]);
});

it.each([
  { demand: { runners: 40, awaited: 12 }, target: 40, burst: 12 + 37 },
  { demand: { runners: 60, awaited: 0 }, target: 50, burst: 47 },
  { demand: { runners: 1, awaited: 9 }, target: 3, burst: 9 },
  { demand: { runners: 4, awaited: 0 }, target: 4, burst: 4 },
])(
  'by demand of $demand.runners holds $target of 3 to 50, and creates all that the demand adds at once',
  async each => {
    const { runOnce, bursts, targets, reported } = pool(50, each.demand);
    await runOnce();
    expect([targets, reported, bursts]).toEqual([[each.target], [each.target], [each.burst]]);
  },
);

it('[S8] by demand too creates one runner at a time after a failed start, and keeps its size', async () => {
  const { runOnce, failed, clock, bursts, targets } = pool(50, { runners: 40, awaited: 12 });
  failed();
  clock.advance(60_000);
  await runOnce();
  expect([targets, bursts]).toEqual([[40], [1]]);
});

it('[S8] after failed starts waits ever longer, up to a minute, and creates one runner at a time', async () => {
  const { runOnce, failed, clock, bursts } = pool();
  for (const waitMs of [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]) {
    failed();
    bursts.length = 0;
    clock.advance(waitMs - 1);
    await runOnce();
    expect(bursts).toEqual([]);
    clock.advance(1);
    await runOnce();
    expect(bursts).toEqual([1]);
  }
});

it('[S8] fills at full speed again after a start that succeeded', async () => {
  const { runOnce, failed, succeeded, bursts } = pool();
  failed();
  failed();
  await runOnce();
  expect(bursts).toEqual([]);
  succeeded();
  await runOnce();
  expect(bursts).toEqual([4]);
});
