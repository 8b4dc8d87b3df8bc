import type { Page } from 'playwright-core';
import * as z from 'zod';
import { within } from '../../time/within.ts';
import { pageScript } from '../browser/page-script.ts';
import { playwrightFrame } from '../browser/playwright-frame.ts';
import { readSelector } from '../browser/playwright-selectors.ts';
import { isRef } from './target.ts';

const SCRIPT = pageScript(new URL('./aim.page.js', import.meta.url));
/** Names an object of Playwright's world of a document: the element last aimed at for a press, and whether it stands ready. */
export const AIMED_AT = 'omicronAimedAt';
const AIM = `({ injected, elements }, isWatched) => {
  const aim = (${SCRIPT})(elements);
  if (!isWatched || window !== window.top || aim === null || elements.length !== 1) return aim;
  const ready = injected.checkElementStates(elements[0], ['visible', 'enabled', 'stable'], true);
  globalThis.${AIMED_AT} = { element: elements[0], ready };
  return { ...aim, isWatched: true };
}`;
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
  /** The page has begun to look whether the target is enabled and stands still: `pressOnceReady`. */
  isWatched: z.boolean().default(false),
});
/** The place at which a hand meets a target. */
export type Aim = z.infer<typeof aim>;

/** Undefined: there is no such element, or nothing is seen of it. An element of the page's main frame is watched if asked. */
export async function aimAt(page: Page, target: string, isWatched = false): Promise<Aim | undefined> {
  const read = readAim(page, target, isWatched).catch(() => undefined);
  return aim.safeParse(await within(read, AIM_MS)).data;
}

/**
 * Read in Playwright's own world, which knows refs and has its script. An element of the page's world would bring that script, of 330 kB,
 * there in each new document.
 */
async function readAim(page: Page, target: string, isWatched: boolean): Promise<unknown> {
  const selector = isRef(target) ? `aria-ref=${target}` : readSelector(target);
  const { selectors } = playwrightFrame(page.mainFrame());
  return (await selectors.callOnSelector({ selector, strict: false }, AIM, isWatched))?.result;
}
