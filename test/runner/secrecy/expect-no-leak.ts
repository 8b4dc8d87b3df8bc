import { expect } from 'vitest';
import { type Filmed, leaks } from './picture-site.ts';

/** Expects that nothing showed the value. */
export function expectNoLeak(name: string, { inShots, inVideo, withheld }: Filmed): void {
  const most = Math.max(0, ...inShots, ...inVideo);
  console.info(
    `${name}: ${leaks(inShots)} of ${inShots.length} pictures (${withheld.length} withheld ${[...new Set(withheld)]}), ` +
      `${leaks(inVideo)} of ${inVideo.length} frames, at most ${most} green`,
  );
  expect([leaks(inShots), leaks(inVideo)]).toEqual([0, 0]);
  expect(inShots.length + withheld.length).toBeGreaterThan(0);
}
