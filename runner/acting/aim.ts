import type { Page } from 'playwright-core';
import * as z from 'zod';
import { within } from '../../time/within.ts';
import { pageFunction, pageScript } from '../browser/page-script.ts';
import { isRef, locate } from './target.ts';

const SCRIPT = pageScript(new URL('./aim.page.js', import.meta.url));
const AIM = pageFunction<[elements: unknown[]]>(SCRIPT);
const AIM_ONE = pageFunction<[element: unknown]>(`element => (${SCRIPT})([element])`);
const AIM_MS = 1_000;

const point = z.object({ x: z.number(), y: z.number() });
export type Point = z.infer<typeof point>;

const aim = z.object({
  at: point.nullable(),
  /** In the same element, a few pixels off. */
  near: point.nullable(),
  /** A clear layer of the same card lies over the target: a person, who does not see it, clicks it. */
  isThrough: z.boolean(),
  /** An option of a closed list, which the browser draws itself: nothing can be clicked. */
  isOption: z.boolean().default(false),
  /** An area of a picture, which has no box of its own. */
  isArea: z.boolean().default(false),
});
/** The place at which a hand meets a target. */
export type Aim = z.infer<typeof aim>;

/** Undefined: there is no such element, or nothing is seen of it. */
export async function aimAt(page: Page, target: string): Promise<Aim | undefined> {
  const found = locate(page, target);
  // Refs are known to Playwright's own world alone, and where all of a target are read is the page's.
  const read = isRef(target) ? found.evaluate(AIM_ONE, undefined, { timeout: AIM_MS }) : found.evaluateAll(AIM);
  return aim.safeParse(await within(read, AIM_MS)).data;
}
