import type { Page } from 'playwright-core';
import * as z from 'zod';
import { pinned } from './target.ts';

const FIND_MS = 1_000;

/** The texts and values of the options of the list that a target names, one a line; empty: it names none. */
export async function optionsOf(page: Page, target: string): Promise<string> {
  const list = await pinned(page, target, FIND_MS);
  return list === undefined ? '' : z.string().parse(await list.evaluate(textsOfOptions));
}

/** Runs in the page. */
function textsOfOptions(list: object): string {
  const { options = [] } = list as { options?: Iterable<{ text: string; value: string }> }; // a select has them
  return [...options].flatMap(({ text, value }) => [text, value]).join('\n');
}
