import type { Locator } from 'playwright-core';
import * as z from 'zod';
import { pageFunction } from '../browser/page-script.ts';
import type { Point } from './aim.ts';

/** The place on an element at which a drag ends; lists put what is dropped before or after the element whose half it is dropped on. */
export const PLACES = ['into', 'before', 'after'] as const;
export type DropPlace = (typeof PLACES)[number];

/** The share of the element that is before the point. */
const SHARE: Readonly<Record<DropPlace, number>> = { into: 0.5, before: 0.15, after: 0.85 };

const dropBox = z.object({ isRow: z.boolean() });

/** The point on the element, which is scrolled to. */
export async function dropPoint(element: Locator, place: DropPlace, timeout: number): Promise<Point> {
  await element.scrollIntoViewIfNeeded({ timeout });
  const box = await element.boundingBox({ timeout });
  if (box === null) throw new Error('The element is there, but is not shown.');
  const isRow = place !== 'into' && dropBox.parse(await element.evaluate(ASK_ROW)).isRow;
  const along = SHARE[place];
  return { x: box.x + box.width * (isRow ? along : 0.5), y: box.y + box.height * (isRow ? 0.5 : along) };
}

/** Runs in the page: whether the element stands beside its neighbour, and not below it. */
const ASK_ROW = pageFunction<[element: unknown]>(`element => {
  const next = element.nextElementSibling ?? element.previousElementSibling;
  if (!next) return { isRow: false };
  const [a, b] = [element.getBoundingClientRect(), next.getBoundingClientRect()];
  return { isRow: Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > Math.min(a.height, b.height) / 2 };
}`);
