import { setTimeout as delay } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import type { Refusal } from '../../contract/tool-failure.ts';
import type { Point } from './aim.ts';

/** A movement ends within its element; lists take one for the pointer's coming and the next for a choice (jQuery UI's menus). */
const NEAR_PX = 3;
/** Longer than the delay after which lists that can be scrolled by touch let go of an item: 250 ms in dnd-kit's documentation. */
const HOLD_MS = 280;
/** Farther than a drag must be drawn before it counts: 5 px in react-beautiful-dnd, 8 in dnd-kit's examples, each in one direction. */
const BEGIN_PX = 10;
const STEP_PX = 20;
const STEPS = { min: 8, max: 25 };
/** SortableJS looks every 50 ms at what is below the pointer. */
const LOOK_MS = 60;

/** Moves onto a point in two movements, as a hand does at least. */
export async function moveOnto(page: Page, { x, y }: Point): Promise<void> {
  await page.mouse.move(x - NEAR_PX, y - NEAR_PX);
  await page.mouse.move(x, y);
}

/** Clicks there, once the mouse has come as a hand does. */
export async function clickAt(
  page: Page,
  point: Point,
  options: Parameters<Page['mouse']['click']>[2] = {},
): Promise<void> {
  await moveOnto(page, point);
  await page.mouse.click(point.x, point.y, options);
}

/** Why there is nothing to be clicked at a point; undefined: the tab shows it. */
export function beyondWindow(page: Page, { x, y }: Point): Refusal<'invalid_arguments'> | undefined {
  const { width, height } = page.viewportSize() ?? { width: Infinity, height: Infinity };
  if (x >= 0 && y >= 0 && x < width && y < height) return undefined;
  return {
    code: 'invalid_arguments',
    why: `The tab shows ${width} by ${height} pixels, and ${x}, ${y} is outside of them.`,
    instead: 'Scroll the page until it shows the point.',
  };
}

/** The end of a drag: where it is at first, and a point of it that is seen, for which the page may have to be scrolled. */
export interface DragEnd {
  readonly toward: Point;
  find(): Promise<Point>;
}

/** Drags as a hand does: holds, draws on a little, goes on in steps, and comes to rest before it lets go. */
export async function dragAlong(
  page: Page,
  from: Point,
  { toward, find }: DragEnd,
  signal: AbortSignal,
): Promise<void> {
  await moveOnto(page, from);
  await page.mouse.down();
  try {
    await delay(HOLD_MS, undefined, { signal });
    // A browser's own drag has to have begun before the page is scrolled.
    const start = between(from, toward, Math.min(1, BEGIN_PX / Math.max(distance(from, toward), 1)));
    await page.mouse.move(start.x, start.y, { steps: 2 });
    await delay(LOOK_MS, undefined, { signal });
    const to = await find();
    const steps = Math.min(Math.max(Math.ceil(distance(start, to) / STEP_PX), STEPS.min), STEPS.max);
    for (let step = 1; step <= steps; step += 1) {
      const { x, y } = between(start, to, step / steps);
      await page.mouse.move(x, y);
    }
    await delay(LOOK_MS, undefined, { signal });
    await page.mouse.move(to.x - 1, to.y);
    await page.mouse.move(to.x, to.y);
    await delay(LOOK_MS, undefined, { signal });
  } finally {
    await page.mouse.up();
  }
}

const distance = (from: Point, to: Point): number => Math.hypot(to.x - from.x, to.y - from.y);

const between = (from: Point, to: Point, share: number): Point => ({
  x: from.x + (to.x - from.x) * share,
  y: from.y + (to.y - from.y) * share,
});
