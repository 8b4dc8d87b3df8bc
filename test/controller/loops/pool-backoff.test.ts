import { pino } from 'pino';
import { expect, it } from 'vitest';
import { poolLoop } from '../../../controller/loops/pool.ts';
import type { RunnerProvider } from '../../../controller/ports/runners.ts';
import type { Fleet } from '../../../controller/store/fleet.ts';
import { steppedClock } from '../../fakes/clock.ts';

/** A pool of three on rows that want a runner each time, and how many it might create in each step. */
function pool() {
  const clock = steppedClock();
  const bursts: number[] = [];
  const kicks = { launch: 0, drain: 0 };
  const fleet = {
    async plan(_provider: string, _digest: string, _idle: number, burst: number) {
      bursts.push(burst);
      return 1;
    },
  } as unknown as Fleet; // the rest is not called
  const provider = { name: 'fake', templateDigest: async () => 't1' } as unknown as RunnerProvider; // the rest is not called
  const made = poolLoop({
    fleet,
    provider,
    idle: 3,
    burst: 4,
    kickLaunch: () => kicks.launch++,
    kickDrain: () => kicks.drain++,
    clock,
    log: pino({ level: 'silent' }),
  });
  return { ...made, clock, bursts, kicks };
}

it('creates runners in bursts, and wakes the loops that start and drain them', async () => {
  const { runOnce, bursts, kicks } = pool();
  await runOnce();
  expect(bursts).toEqual([4]);
  expect(kicks).toEqual({ launch: 1, drain: 1 });
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
