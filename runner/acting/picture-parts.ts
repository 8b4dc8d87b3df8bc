import type { Locator, Page } from 'playwright-core';
import * as z from 'zod';

/** A part of a page, in pixels from its beginning. */
export interface Area {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** Models take no picture with a longer side: <https://platform.claude.com/docs/en/build-with-claude/vision>. WebP ends at 16,383. */
const SIDE_MAX = 8_000;
/** Each part costs a model as much as a picture of its own. */
const PARTS_MAX = 4;

const pageSchema = z.object({ x: z.number(), y: z.number(), width: z.number(), height: z.number() });

/** The area of the page or of an element, where it is too large for one picture; undefined: it is not. */
export async function largeArea(page: Page, of: Locator | undefined): Promise<Area | undefined> {
  const box = of && (await of.boundingBox());
  if (box === null) return undefined; // Playwright says that it is not shown
  const { x, y, width, height } = pageSchema.parse(await page.evaluate(PAGE));
  const area = box === undefined ? { x: 0, y: 0, width, height } : { ...box, x: box.x + x, y: box.y + y };
  return area.width > SIDE_MAX || area.height > SIDE_MAX ? area : undefined;
}

/** Runs in the page: how far it is scrolled, and its size. */
const PAGE = `(() => {
  const { documentElement: root, body } = document;
  const most = side => Math.max(root['scroll' + side], root['client' + side], body ? body['scroll' + side] : 0);
  return { x: scrollX, y: scrollY, width: most('Width'), height: most('Height') };
})()`;

/** The first parts of an area, from its top. */
export const partsOf = ({ x, y, width, height }: Area): Area[] =>
  Array.from({ length: Math.min(PARTS_MAX, Math.ceil(height / SIDE_MAX)) }, (_, index) => ({
    x,
    y: y + index * SIDE_MAX,
    width: Math.min(width, SIDE_MAX),
    height: Math.min(SIDE_MAX, height - index * SIDE_MAX),
  }));

/** The sentence that says what the parts show of the area. */
export function noteOn({ width, height }: Area, parts: readonly Area[]): string {
  const [columns, rows] = [Math.round(width), Math.round(height)];
  const shown = parts.reduce((sum, part) => sum + part.height, 0);
  const lacking = [
    ...(shown < height ? [`what lies below ${Math.round(shown)}`] : []),
    ...(width > SIDE_MAX ? [`what lies right of ${SIDE_MAX}`] : []),
  ];
  return [
    `It has ${columns} x ${rows} pixels, more than models take in one picture: ${parts.length === 1 ? 'this is its first part' : `these are ${parts.length} parts of it, from the top`}.`,
    ...(lacking.length > 0 ? [`Not shown: ${lacking.join(' and ')}; scroll there for it.`] : []),
  ].join(' ');
}
