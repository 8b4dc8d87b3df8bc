import type { Frame, Locator, Page } from 'playwright-core';
import * as z from 'zod';
import { pageFunction, pageScript } from '../browser/page-script.ts';
import type { Point } from './aim.ts';
import { moveOnto } from './pointer.ts';

const FIND = pageFunction<[element: unknown, words: string]>(
  pageScript(new URL('./select-words.page.js', import.meta.url)),
);
const STEPS = 6;

const point = z.object({ x: z.number(), y: z.number() });
const found = z.discriminatedUnion('isField', [
  z.object({ isField: z.literal(true) }),
  z.object({ isField: z.literal(false), from: point, to: point }),
]);

/** Selects words of an element, or of its page, with the mouse, in a field without it; resolves with the selection, undefined: neither shows them. */
export async function selectWords(
  page: Page,
  element: Locator,
  words: string,
  timeout: number,
): Promise<string | undefined> {
  await using handle = await element.elementHandle({ timeout });
  const asked = found.safeParse(await handle.evaluate(FIND, words));
  if (!asked.success) return undefined;
  const frame = (await handle.ownerFrame()) ?? page.mainFrame();
  if (!asked.data.isField) {
    const offset = await offsetOf(frame);
    const [from, to] = [asked.data.from, asked.data.to].map(({ x, y }) => ({ x: x + offset.x, y: y + offset.y }));
    if (from === undefined || to === undefined) return undefined;
    await moveOnto(page, from);
    await page.mouse.down();
    await page.mouse.move(to.x, to.y, { steps: STEPS });
    await page.mouse.up();
  }
  return z.string().parse(await frame.evaluate(SELECTED));
}

/** The place of a document in the page. */
async function offsetOf(frame: Frame): Promise<Point> {
  if (frame.parentFrame() === null) return { x: 0, y: 0 };
  const box = await (await frame.frameElement()).boundingBox();
  return { x: box?.x ?? 0, y: box?.y ?? 0 };
}

const SELECTED = 'String(getSelection())';
