import type { CallToolResult } from '@modelcontextprotocol/server';
import type { Page } from 'playwright-core';
import { withNotes } from '../results/result.ts';

const LOAD_MS = 2_000;

/** The result of work on a page, with the tabs that opened meanwhile and how to get there. */
export async function withNewTabs(page: Page, work: () => Promise<CallToolResult>): Promise<CallToolResult> {
  const before = new Set(page.context().pages());
  const result = await work();
  const tabs = [...page.context().pages().entries()].filter(([, tab]) => !before.has(tab));
  const notes = tabs.map(async ([index, tab]) => {
    await tab.waitForLoadState('domcontentloaded', { timeout: LOAD_MS }).catch(() => undefined);
    return `A new tab opened: ${index}: ${tab.url()}. To go there: browser_tabs {"action": "select", "index": ${index}}.`;
  });
  return withNotes(result, await Promise.all(notes));
}
