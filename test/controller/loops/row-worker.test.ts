import { expect, it } from 'vitest';
import { rowWorker } from '../../../controller/loops/row-worker.ts';
import type { TakenRow } from '../../../controller/store/fleet.ts';
import { steppedClock } from '../../fakes/clock.ts';

const EVERY_MS = 5_000;

it('holds the rows on which it still works, at an interval, and no row whose work has ended', async () => {
  const clock = steppedClock();
  const kept: (readonly string[])[] = [];
  const works = new Map<string, PromiseWithResolvers<void>>();
  const left = ['a', 'b'];
  const worker = rowWorker({
    atOnce: 2,
    onRoom() {},
    hold: { everyMs: EVERY_MS, keep: async ids => void kept.push(ids), clock },
    take: async most => left.splice(0, most).map(id => ({ id }) as TakenRow), // the rest is not read
    work({ id }) {
      const work = Promise.withResolvers<void>();
      works.set(id, work);
      return work.promise;
    },
  });
  await worker.runOnce();
  clock.advance(EVERY_MS - 1);
  await worker.runOnce(); // all places are taken
  expect(kept).toEqual([]);
  clock.advance(1);
  await worker.runOnce();
  expect(kept).toEqual([['a', 'b']]);
  await worker.runOnce();
  expect(kept).toHaveLength(1);
  works.get('a')?.resolve();
  await new Promise(setImmediate);
  clock.advance(EVERY_MS);
  await worker.runOnce();
  expect(kept.at(-1)).toEqual(['b']);
  works.get('b')?.resolve();
  await worker.stop();
  clock.advance(EVERY_MS);
  await worker.runOnce();
  expect(kept).toHaveLength(2);
});
