import { expect, it } from 'vitest';
import { OneTimeLinks } from '../../console/server/one-time-links.ts';
import { steppedClock } from '../fakes/clock.ts';

it('a link opens once, and not after ten minutes', () => {
  const clock = steppedClock();
  const links = new OneTimeLinks(clock);
  const opened = links.make();
  expect([links.redeem(opened), links.redeem(opened)]).toEqual([true, false]);
  const expired = links.make();
  clock.advance(10 * 60_000);
  expect(links.redeem(expired)).toBe(false);
});
