import type { ElementHandle, Locator, Page } from 'playwright-core';
import { readSelector } from '../browser/playwright-selectors.ts';
import { type KnownNames, refusedSelector } from '../secrecy/selectors.ts';

/** Whether a target is a ref of the last snapshot. */
export const isRef = (target: string): boolean => /^(f\d+)?e\d+$/.test(target);

/**
 * An element as agents name it: a ref of the last snapshot (`e12`), a selector, or a locator (`getByLabel('Name')`).
 */
export function locate(page: Page, target: string): Locator {
  if (isRef(target)) return page.locator(`aria-ref=${target}`);
  return page.locator(readSelector(target));
}

/** The one element of a target that is there now. Rejects at once where there is none, or several: an action would wait for it. */
export async function findExisting(page: Page, target: string): Promise<Locator> {
  const found = locate(page, target);
  const count = await found.count().catch(error => absent(error, target));
  if (count === 1) return found;
  if (count > 1) throw new Error(`strict mode violation: the target resolved to ${count} elements`);
  throw new Error(
    isRef(target)
      ? `Ref ${target} not found in the current page snapshot. Try capturing new snapshot.`
      : `The selector "${target}" does not match any elements.`,
  );
}

/** The frame of a ref may be gone. */
function absent(error: unknown, target: string): number {
  if (isRef(target)) return 0;
  throw error;
}

const FIND_MS = 3_000;

/** An element as an agent names it, or as it was found before. */
export type Target = string | ElementHandle;

/**
 * The one element of a target, pinned to its document: it is of no use in another one. Undefined: none, or several.
 */
export const pinTarget = async (page: Page, target: Target, ms = FIND_MS): Promise<ElementHandle | undefined> =>
  typeof target === 'string'
    ? ((await locate(page, target)
        .elementHandle({ timeout: ms })
        .catch(() => undefined)) ?? undefined)
    : target;

/** Clicks, presses and waits: on the element that has the name each time, or on the very element that was found before. */
export const actor = (page: Page, target: Target): Locator | ElementHandle =>
  typeof target === 'string' ? locate(page, target) : target;

/**
 * The target for use after a secret was filled in. One that could ask for the secret is looked for now, while there is
 * none. Undefined: it is not there now.
 */
export const safeTarget = async (page: Page, target: string, known: KnownNames): Promise<Target | undefined> =>
  refusedSelector(target, known) === undefined ? target : pinTarget(page, target);
