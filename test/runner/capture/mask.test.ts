import { expect, test } from 'vitest';
import { frameMask, MASK_MS, maskedFrames } from '../../../runner/capture/mask.ts';
import { steppedClock } from '../../fakes/clock.ts';

/** Frames, and those of them that were shown. */
function masked() {
  const clock = steppedClock();
  const mask = frameMask(clock);
  const shown: string[] = [];
  const frames = maskedFrames<string>(frame => shown.push(frame), mask, clock);
  return {
    ...{ shown, mask, add: frames.add, end: frames.end },
    async pass(ms: number) {
      clock.advance(ms);
      await new Promise(setImmediate);
    },
  };
}

test('frames that come while masked are not shown, and the last of them is once the mask is off', async () => {
  const { shown, mask, add, pass } = masked();
  add('before');
  await mask.during(async () => {
    add('secret');
    add('after');
  });
  expect(shown).toEqual(['before']);
  await pass(MASK_MS);
  expect(shown).toEqual(['before', 'after']);
});

test('a frame waits for as long as the mask is on', async () => {
  const { shown, mask, add, pass } = masked();
  await mask.during(async () => {
    add('after');
    await pass(MASK_MS);
    await pass(MASK_MS);
  });
  expect(shown).toEqual([]);
  await pass(MASK_MS);
  expect(shown).toEqual(['after']);
});

test('a frame that came without a mask replaces one that waits', async () => {
  const { shown, mask, add, pass } = masked();
  await mask.during(async () => {
    add('during');
    await pass(MASK_MS / 2);
  });
  await pass(MASK_MS / 2); // the first look, while the mask is on
  await pass(MASK_MS / 2); // the mask is off
  add('now');
  await pass(MASK_MS);
  expect(shown).toEqual(['now']);
});

test('the end shows nothing masked', async () => {
  const { shown, mask, add, end } = masked();
  add('before');
  await mask.during(async () => {
    add('secret');
    end();
  });
  expect(shown).toEqual(['before']);
});
