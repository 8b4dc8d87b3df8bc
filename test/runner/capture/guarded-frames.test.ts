import { expect, test } from 'vitest';
import { guardedFrames } from '../../../runner/capture/guarded-frames.ts';
import type { PictureCheck } from '../../../runner/secrecy/page-pictures.ts';
import type { Pictures } from '../../../runner/secrecy/pictures.ts';
import { steppedClock } from '../../fakes/clock.ts';

const CLEAR: PictureCheck = { shown: undefined, settled: true, unseen: 0, documents: 'a' };
/** Two seconds of looks that find nothing: then frames are shown. */
const LOOKS = 8;

test('frames of a document that came and went between two looks are not shown', async () => {
  const clock = steppedClock();
  const shown: string[] = [];
  let look = CLEAR;
  const pictures: Pictures = {
    look: async () => look,
    take: async () => ({ withheld: 'only frames are shown here' }),
    isGuarding: () => true,
    filled: async () => undefined,
  };
  const frames = guardedFrames({
    page: undefined as never, // looked at by the fake above only
    pictures,
    show: frame => shown.push(frame),
    shoot: async () => '',
    clock,
  });
  const passes = async (frame: string) => {
    frames.add(frame);
    await new Promise(setImmediate);
    clock.advance(400);
    await new Promise(setImmediate);
  };
  for (let n = 0; n < LOOKS; n += 1) await passes('before');
  expect(shown.at(-1)).toBe('before');
  look = { ...CLEAR, documents: 'b' };
  await passes('of what came and went');
  for (let n = 0; n < LOOKS; n += 1) await passes('after');
  expect(shown).not.toContain('of what came and went');
  expect(shown.at(-1)).toBe('after');
  frames.end();
});
