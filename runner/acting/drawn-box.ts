import type { ElementHandle, Page } from 'playwright-core';
import * as z from 'zod';
import { locate } from './target.ts';

const BOX = 'input[type=checkbox], input[type=radio]';

/** The element that is clicked for a checkbox or a radio button, and the place on it. */
export interface DrawnBox {
  readonly element: ElementHandle;
  readonly position: { readonly x: number; readonly y: number };
}

/**
 * Finds the place to click of a checkbox or a radio button that the page draws itself, over the browser's own or beside it, which is hidden;
 * undefined: the target is clicked where it is.
 */
export async function drawnBox(page: Page, target: string): Promise<DrawnBox | undefined> {
  const box = locate(page, target).and(page.locator(BOX));
  if ((await box.count().catch(() => 0)) !== 1) return undefined;
  const element = await box.elementHandle();
  return element === null ? undefined : drawnFor(element);
}

/** The place, as options of a click. */
export const at = (drawn: DrawnBox | undefined): Partial<Pick<DrawnBox, 'position'>> =>
  drawn === undefined ? {} : { position: drawn.position };

const pointSchema = z.object({ x: z.number(), y: z.number() });

/** The same for a box that was found. */
export async function drawnFor(box: ElementHandle): Promise<DrawnBox | undefined> {
  const drawn = await box.evaluateHandle(askDrawn);
  const element = (await drawn.getProperty('element')).asElement();
  if (element === null || !(await element.isVisible())) return undefined;
  return { element, position: pointSchema.parse(await (await drawn.getProperty('position')).jsonValue()) };
}

/** As much of the elements of a page as is read here. */
interface Part {
  readonly clientLeft: number;
  readonly clientTop: number;
  contains(element: Part): boolean;
  getBoundingClientRect(): Rectangle;
  getClientRects(): ArrayLike<Rectangle>;
  matches(selector: string): boolean;
}
interface Rectangle {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}
interface Box extends Part {
  readonly labels: Iterable<Part> | null;
  scrollIntoView(options: { block: 'nearest'; inline: 'nearest' }): void;
  readonly ownerDocument: {
    readonly defaultView: { getComputedStyle(element: Part): { readonly pointerEvents: string } } | null;
  };
  getRootNode(): { elementsFromPoint(x: number, y: number): Part[] };
}

/**
 * Runs in the page. A part of the label that lies over the box is clicked there, whatever lies over both for a moment. If nothing is seen of the
 * box (1 pixel, for screen readers only) or it takes no pointer, its label is clicked at the beginning: there may be a link in it.
 */
function askDrawn(element: object): object {
  const EDGE = 2;
  const box = element as Box; // a checkbox or a radio button is one
  const labels = [...(box.labels ?? [])];
  const at = (on: Part, x: number, y: number) => {
    const { x: left, y: top } = on.getBoundingClientRect();
    return { element: on, position: { x: x - left - on.clientLeft, y: y - top - on.clientTop } };
  };
  box.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  const { x, y, width, height } = box.getBoundingClientRect();
  const [middleX, middleY] = [x + width / 2, y + height / 2];
  const isOfLabel = (part: Part) => labels.some(label => label.contains(part));
  const stack = box.getRootNode().elementsFromPoint(middleX, middleY);
  const found = stack.find(part => part === box || isOfLabel(part));
  if (found === box) return {};
  const isTiny = width <= 1 || height <= 1;
  if (found !== undefined && !isTiny) return at(found, middleX, middleY);
  const takesPointer = box.ownerDocument.defaultView?.getComputedStyle(box).pointerEvents !== 'none';
  const [label] = labels;
  const first = label?.getClientRects()[0];
  if (label === undefined || first === undefined || !(isTiny || stack.length === 0 || !takesPointer)) return {};
  const beginning = label.matches(':dir(rtl)') ? first.x + first.width - EDGE : first.x + EDGE;
  return at(label, beginning, first.y + first.height / 2);
}
