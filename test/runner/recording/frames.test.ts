import { expect, test } from 'vitest';
import { frameMask, frameWriter, STILL_MS } from '../../../runner/recording/frames.ts';
import { steppedClock } from '../../fakes/clock.ts';

/** A writer, and the frames that it wrote. */
function recorded() {
  const clock = steppedClock();
  const mask = frameMask(clock);
  const written: string[] = [];
  const frames = frameWriter(frame => written.push(frame.toString()), mask, clock);
  return {
    written,
    mask,
    add: (name: string) => frames.add(Buffer.from(name)),
    end: frames.end,
    /** Lets time pass, in the writer's own steps. */
    async pass(ms: number) {
      for (let left = ms; left > 0; left -= STILL_MS / 2) {
        clock.advance(Math.min(left, STILL_MS / 2));
        await new Promise(setImmediate);
      }
    },
  };
}

test('a still page lasts as long in the video as it did', async () => {
  const { written, add, pass, end } = recorded();
  add('a');
  await pass(3 * STILL_MS);
  end();
  expect(written).toEqual(['a', 'a', 'a', 'a', 'a']);
});

test('frames that come while masked are not written, and the last of them is once the mask is off', async () => {
  const { written, mask, add, pass } = recorded();
  add('before');
  await mask.during(async () => {
    add('secret');
    add('after');
  });
  expect(written).toEqual(['before']);
  await pass(STILL_MS / 2);
  expect(written).toEqual(['before', 'after']);
});

test('a frame that waits for the mask to end survives that the last one is repeated meanwhile', async () => {
  const { written, mask, add, pass } = recorded();
  add('before');
  await mask.during(async () => {
    await pass(STILL_MS / 2);
    add('after');
    await pass(STILL_MS);
  });
  expect(written).toEqual(['before', 'before']);
  await pass(STILL_MS / 2);
  expect(written.at(-1)).toBe('after');
});

test('a frame that came without a mask replaces one that waits', async () => {
  const { written, mask, add, pass, end } = recorded();
  await mask.during(async () => add('during'));
  await pass(STILL_MS / 2 - 1);
  add('now');
  end();
  expect(written.at(-1)).toBe('now');
});

test('the end writes what the page looks like, and nothing masked', async () => {
  const { written, mask, add, end } = recorded();
  add('before');
  await mask.during(async () => {
    add('secret');
    end();
  });
  expect(written).toEqual(['before', 'before']);
});
