import type { Refusal } from '../../contract/tool-failure.ts';

type Obstacle = Omit<Refusal, 'code'>;

/** Signs in the call log of a Playwright time-out, which is written for developers; the last state that it tells is the one that counts. */
const SIGNS: readonly [RegExp, (found: string) => Obstacle][] = [
  [
    /^ *- (<.+>) (?:from .+ )?intercepts pointer events$/gm,
    cover => ({
      why: `The element is covered by ${cover}.`,
      instead: 'Close what covers it (a banner, a box of the page) first, or scroll it away.',
    }),
  ],
  [
    /^ *- element is not visible$/gm,
    () => ({
      why: 'The element is there, but is not shown.',
      instead: 'Open what holds it first: click the menu, the tab or the heading that it belongs to.',
    }),
  ],
  [
    /^ *- element is not enabled$/gm,
    () => ({
      why: 'The element is disabled.',
      instead: 'Fill in what the page still asks for, or wait, then look at it again.',
    }),
  ],
  [
    /^ *- element is outside of the viewport$/gm,
    () => ({
      why: 'The element cannot be scrolled into the visible part of the page.',
      instead: 'Click at coordinates, or use what moves the page.',
    }),
  ],
];

/** Finds what kept an action from its element until its time was over; undefined: the log does not say. */
export function obstacleIn(log: string): Obstacle | undefined {
  const found = SIGNS.flatMap(([sign, obstacle]) =>
    [...log.matchAll(sign)].slice(-1).map(({ index, 1: what = '' }) => ({ index, obstacle: obstacle(what) })),
  );
  const [last] = found.sort((a, b) => b.index - a.index);
  if (last !== undefined) return last.obstacle;
  return /Call log:\n *- waiting for [^\n]*\n*$/.test(log) ? ABSENT : undefined;
}

const ABSENT: Obstacle = {
  why: 'No element of the page matches.',
  instead: 'The page may still be loading: wait, then look at it again. Another tab or a frame may have it.',
};
