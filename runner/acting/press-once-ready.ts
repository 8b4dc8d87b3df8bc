import type { Page } from 'playwright-core';
import { within } from '../../time/within.ts';
import { playwrightFrame } from '../browser/playwright-frame.ts';
import { AIMED_AT, type Aim } from './aim.ts';

/** Two frames take 33 ms; an element that takes this long is left to Playwright, which says what it waits for. */
const READY_MS = 1_000;
const GUARD_MS = 500;

/** Runs in Playwright's world: whether the element is ready and takes a click there. From then on a click that meets another element is kept from the page. */
const GUARD = `async ({ injected }, point) => {
  const { element, ready } = globalThis.${AIMED_AT} ?? {};
  if (element === undefined || (await ready) !== undefined) return false;
  const guard = injected.setupHitTargetInterceptor(element, 'mouse', point, false);
  globalThis.${AIMED_AT} = { guard };
  return typeof guard === 'object';
}`;

/** Runs in Playwright's world: whether the click met the element. */
const MET = `() => globalThis.${AIMED_AT}?.guard?.stop() ?? 'done'`;

/**
 * Clicks an element that is watched, with Playwright's own checks: it is visible, enabled, stands still for two frames, and takes the click
 * itself. Playwright asks the page six times for that, one after the other, which takes a frame or two longer. Resolves with whether the page
 * has the click; if not, the mouse is beside the point. Rejects once `timeout` is over after the press, as Playwright does.
 */
export async function pressOnceReady(
  page: Page,
  { at, near, isWatched }: Aim,
  { button, timeout }: { readonly button?: 'left' | 'right' | 'middle'; readonly timeout: number },
): Promise<boolean> {
  if (!isWatched || at === null || near === null) return false;
  const [isReady] = await Promise.all([
    within(askMainFrame(page, GUARD, at), READY_MS),
    within(page.mouse.move(near.x, near.y), READY_MS),
  ]);
  if (isReady !== true) return false;
  const clicked = page.mouse.click(at.x, at.y, { ...(button && { button }) }).then(() => true);
  if (!(await Promise.race([clicked, within(clicked, timeout, false)])))
    throw new Error(`Timeout ${timeout}ms exceeded.\nCall log:\n  - performing click action`);
  // A page that its handler rewrites has no root for a moment, and was clicked.
  return ((await within(askMainFrame(page, MET), GUARD_MS)) ?? 'done') === 'done';
}

async function askMainFrame(page: Page, script: string, argument?: unknown): Promise<unknown> {
  const { selectors } = playwrightFrame(page.mainFrame());
  return (await selectors.callOnSelector({ selector: ':root', strict: false }, script, argument))?.result;
}
