import type { Page } from 'playwright-core';
import * as z from 'zod';
import { within } from '../../time/within.ts';
import { pageScript } from '../browser/page-script.ts';
import { playwrightFrame } from '../browser/playwright-frame.ts';
import { readSelector } from '../browser/playwright-selectors.ts';
import { isRef } from './target.ts';

const SCRIPT = pageScript(new URL('./aim.page.js', import.meta.url));
const AIM = `({ elements }) => (${SCRIPT})(elements)`;
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
  const read = readAim(page, target).catch(() => undefined);
  return aim.safeParse(await within(read, AIM_MS)).data;
}

/**
 * Read in Playwright's own world, which knows refs and has its script. An element of the page's world would bring that script, of 330 kB,
 * there in each new document.
 */
async function readAim(page: Page, target: string): Promise<unknown> {
  const selector = isRef(target) ? `aria-ref=${target}` : readSelector(target);
  const { selectors } = playwrightFrame(page.mainFrame());
  return (await selectors.callOnSelector({ selector, strict: false }, AIM, undefined))?.result;
}
