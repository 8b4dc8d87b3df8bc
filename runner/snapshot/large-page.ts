import type { Page } from 'playwright-core';
import { within } from '../../time/within.ts';
import { type AriaNode, ariaTree } from './aria-tree.ts';
import { SNAPSHOT_MS } from './view.ts';

/** A bigger page takes seconds: 5,000 elements take 0.5 to 1.8, 20,000 4 to 9. */
export const ELEMENTS_MAX = 10_000;
const MAIN = 'main, [role=main]';

/** A page that is too large to be read after each call: its main part, where that is not too large; `write` writes it below the head. */
export async function writeLargePage(
  page: Page,
  elements: number,
  signal: AbortSignal,
  write: (tree: readonly AriaNode[], head: string) => Promise<string>,
): Promise<string> {
  const note = `${elements} elements: too many for a snapshot after each call; browser_find and browser_snapshot read them`;
  const head = `### Page\n- Page URL: ${page.url()}\n(${note}`;
  const inMain = await within(page.locator(MAIN).first().locator('*').count(), SNAPSHOT_MS, 0);
  if (inMain === 0 || inMain > ELEMENTS_MAX) return `${head})`;
  const { tree } = await ariaTree(page, SNAPSHOT_MS, signal, { part: MAIN, isLarge: true });
  const whole = `${head}; this is the main part)`;
  return `${whole}\n${await write(tree, whole)}`;
}
