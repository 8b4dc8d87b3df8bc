import { createRequire } from 'node:module';
import type { ElementHandle, Locator, Page } from 'playwright-core';
import * as z from 'zod';

/** Playwright MCP reads its targets with this function of the same, pinned, bundle. */
const asSelector = z.custom<(language: 'javascript', text: string, testIdAttribute: string) => string>(
  value => typeof value === 'function',
);
const bundle = z.object({ iso: z.object({ locatorOrSelectorAsSelector: asSelector }) });
const { iso } = bundle.parse(createRequire(import.meta.url)('playwright-core/lib/coreBundle'));

/**
 * An element as agents name it: a ref of the last snapshot (`e12`), a selector, or a locator (`getByLabel('Name')`).
 */
export function locate(page: Page, target: string): Locator {
  if (/^(f\d+)?e\d+$/.test(target)) return page.locator(`aria-ref=${target}`);
  return page.locator(iso.locatorOrSelectorAsSelector('javascript', target, 'data-testid'));
}

const FIND_MS = 3_000;

/**
 * The one element of a target, pinned to its document: it is of no use in another one. Undefined: none, or several.
 */
export const pinned = async (page: Page, target: string, ms = FIND_MS): Promise<ElementHandle | undefined> =>
  (await locate(page, target)
    .elementHandle({ timeout: ms })
    .catch(() => undefined)) ?? undefined;
