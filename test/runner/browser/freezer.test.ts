import { expect, it } from 'vitest';
import { browserFreezer } from '../../../runner/browser/freezer.ts';
import type { Pause } from '../../../runner/browser/pause.ts';
import { steppedClock } from '../../fakes/clock.ts';

/** Long enough for what waits on a stepped clock. */
const settled = () => new Promise(resolve => setImmediate(resolve));

function frozenAfter(afterMs: number) {
  const clock = steppedClock();
  const told: (string | number)[] = [];
  let held = 0;
  const platform = { heldMs: 0 };
  const pause: Pause = {
    async hold() {
      held += 1;
    },
    letGo() {
      held -= 1;
    },
    isHeld: () => held > 0,
  };
  const freezer = browserFreezer({
    ...{ pause, afterMs, clock },
    heldMs: async () => platform.heldMs,
    onFrozen: () => told.push('frozen'),
    onThawed: ms => told.push(ms),
  });
  const pass = async (ms: number) => {
    clock.advance(ms);
    await settled();
  };
  return { freezer, pause, told, pass, platform };
}

it('freezes a browser that nothing has used for a while, and thaws it at the next use', async () => {
  const { freezer, pause, told, pass } = frozenAfter(30_000);
  await pass(29_000);
  expect(pause.isHeld()).toBe(false);
  await pass(1_000);
  expect(pause.isHeld()).toBe(true);
  await pass(60_000);
  const unused = freezer.use();
  expect(pause.isHeld()).toBe(false);
  expect(told).toEqual(['frozen', 60_000]);
  await pass(60_000); // still in use
  expect(pause.isHeld()).toBe(false);
  unused();
  await pass(30_000);
  expect(pause.isHeld()).toBe(true);
});

it('[E1] runs while the platform holds its lease, and is frozen once that has released it', async () => {
  const { pause, pass, platform } = frozenAfter(30_000);
  platform.heldMs = 300_000;
  for (let asked = 0; asked < 4; asked += 1) await pass(30_000);
  expect(pause.isHeld()).toBe(false);
  platform.heldMs = 0; // released
  await pass(30_000);
  expect(pause.isHeld()).toBe(true);
});

it('runs while one of several uses goes on, whichever ends first', async () => {
  const { freezer, pause, pass } = frozenAfter(30_000);
  const [call, viewer] = [freezer.use(), freezer.use()];
  call();
  call(); // twice is once
  await pass(60_000);
  expect(pause.isHeld()).toBe(false);
  viewer();
  await pass(30_000);
  expect(pause.isHeld()).toBe(true);
  freezer.close();
  expect(pause.isHeld()).toBe(false);
  await pass(60_000);
  expect(pause.isHeld()).toBe(false);
});

it('never freezes where that is off', async () => {
  const { freezer, pause, pass } = frozenAfter(0);
  freezer.use()();
  await pass(3_600_000);
  expect(pause.isHeld()).toBe(false);
});
