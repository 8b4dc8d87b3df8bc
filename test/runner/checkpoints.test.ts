import { expect, it } from 'vitest';
import { saveAtCheckpoints } from '../../runner/profile/checkpoints.ts';
import { steppedClock } from '../fakes/clock.ts';

it('saves a profile at every checkpoint before which it was used, also after a save that failed', async () => {
  const clock = steppedClock();
  const over = new AbortController();
  const warned: unknown[] = [];
  let used = clock.nowMs();
  let saves = 0;
  const done = saveAtCheckpoints({
    ...{ everyMs: 300_000, clock, signal: over.signal, usedAtMs: () => used },
    async save() {
      saves += 1;
      if (saves === 1) throw new Error('the store is away');
    },
    warn: error => warned.push(error),
  });
  const pass = async (isUsed: boolean) => {
    clock.advance(150_000);
    if (isUsed) used = clock.nowMs();
    clock.advance(150_000);
    await new Promise(resolve => setImmediate(resolve));
  };
  await pass(false);
  expect(saves).toBe(0);
  await pass(true);
  expect([saves, warned.length]).toEqual([1, 1]);
  await pass(false);
  expect(saves).toBe(1);
  await pass(true);
  expect([saves, warned.length]).toEqual([2, 1]);
  over.abort();
  await done;
});
