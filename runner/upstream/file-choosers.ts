import type { CallToolResult } from '@modelcontextprotocol/server';
import type { Page } from 'playwright-core';
import { withNotes } from '../results/result.ts';
import { upstreamTabOf } from './upstream-tab.ts';

const choosersOf = (page: Page) =>
  upstreamTabOf(page)
    .modalStates()
    .filter(({ type }) => type === 'fileChooser');

/** The page hears nothing of it. While one is open, Playwright MCP answers no dialog, and refuses its other tools. */
export function closeFileChoosers(page: Page): void {
  for (const chooser of choosersOf(page)) upstreamTabOf(page).clearModalState(chooser);
}

const CHOOSER_OPEN =
  'A file chooser is open: browser_file_upload {"paths": [name]}, where it is listed, gives it files of browser_file_list; ' +
  'the next call that acts closes it.';

/** Notes on a page after work on it. */
export const chooserNotes = (page: Page): string[] => (choosersOf(page).length > 0 ? [CHOOSER_OPEN] : []);

/** The result of work on a page, with the file chooser that it opened. */
export async function withFileChooser(page: Page, work: () => Promise<CallToolResult>): Promise<CallToolResult> {
  closeFileChoosers(page);
  const result = await work();
  return withNotes(result, chooserNotes(page));
}
