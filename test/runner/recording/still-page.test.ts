import { expect, test } from 'vitest';
import { frameWriter, STILL_MS } from '../../../runner/recording/still-page.ts';
import { steppedClock } from '../../fakes/clock.ts';

test('a still page lasts as long in the video as it did', async () => {
  const clock = steppedClock();
  const written: string[] = [];
  const frames = frameWriter(frame => written.push(frame.toString()), clock);
  frames.add(Buffer.from('a'));
  for (let n = 0; n < 6; n += 1) {
    clock.advance(STILL_MS / 2);
    await new Promise(setImmediate);
  }
  frames.end();
  expect(written).toEqual(['a', 'a', 'a', 'a', 'a']);
});
