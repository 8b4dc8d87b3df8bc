import { once } from 'node:events';
import type { CallToolResult } from '@modelcontextprotocol/server';
import type { BrowserContext, ConsoleMessage, Page } from 'playwright-core';
import { within } from '../../time/within.ts';
import type { PageGuard } from '../browser/page-guard.ts';
import { bareText, oneLine } from '../browser/page-text.ts';
import { shownAddress, shownTitle } from '../browser/shown.ts';
import { timeoutResult } from '../results/result.ts';
import { upstreamTabOf } from './upstream-tab.ts';

/** The page on which Playwright MCP's next tool would act; undefined: it would open one. */
export function currentTab(context: BrowserContext): Page | undefined {
  const pages = context.pages();
  return pages.find(page => upstreamTabOf(page).isCurrentTab()) ?? pages[0];
}

/** As `currentTab`; opens a page where there is none. */
export const currentPage = async (context: BrowserContext): Promise<Page> => currentTab(context) ?? context.newPage();

const TITLE_MS = 1_000;
const NO_TITLE = '(does not answer)';

/**
 * Titles, addresses, dialogs and what is written to the console, as Playwright MCP and every tool here show them: each on one line,
 * without marks of the product's; very long ones are left out.
 *
 * Playwright MCP asks every tab for its title in each call: one in the background whose script never ends would hold them all.
 * Such a tab has no title; that of the tab acted on is waited for as long as its call may take, unless a dialog may hold it.
 */
export function boundNames(context: BrowserContext, mayBeHeld: () => boolean): void {
  const bound = (page: Page) => {
    const [title, url] = [page.title.bind(page), page.url.bind(page)];
    const shown = async () => shownTitle(await title());
    page.title = () => (page === currentTab(context) && !mayBeHeld() ? shown() : within(shown(), TITLE_MS, NO_TITLE));
    page.url = () => shownAddress(url());
    const [messages, errors] = [page.consoleMessages.bind(page), page.pageErrors.bind(page)];
    page.consoleMessages = async options => (await messages(options)).map(onOneLine);
    page.pageErrors = async options => (await errors(options)).map(errorOnOneLine);
  };
  context.pages().forEach(bound);
  context.on('page', bound);
  // Before Playwright MCP hears of them: it listens at the page.
  context.on('console', onOneLine);
  context.on('weberror', error => void errorOnOneLine(error.error()));
  context.on('dialog', dialog => {
    // It stands between quotation marks, to agents and to people.
    const message = oneLine(dialog.message().slice(0, TEXT_CHARACTERS_MAX)).replaceAll('"', "'");
    dialog.message = () => message;
  });
}

/** Pages write texts of many megabytes; results have room for fewer characters than these. */
const TEXT_CHARACTERS_MAX = 100_000;
const bareBeginning = (text: string): string =>
  text.length <= TEXT_CHARACTERS_MAX
    ? bareText(text)
    : `${bareText(text.slice(0, TEXT_CHARACTERS_MAX))}… (a text of ${text.length} characters)`;

/** A message as results show it. */
function onOneLine(message: ConsoleMessage): ConsoleMessage {
  const text = bareBeginning(message.text());
  message.text = () => text;
  return message;
}

/** An error of a page as results show it; anything else may be thrown. */
function errorOnOneLine(error: unknown): Error {
  if (!(error instanceof Error)) return new Error(bareBeginning(String(error)));
  const { message, stack = message } = error;
  return Object.assign(error, { message: bareBeginning(message), stack: bareBeginning(stack) });
}

/** Closes every tab but one. Playwright MCP's own tool would end the connection permanently; the lease's browser stays, with a blank tab. */
export async function closeTabs(
  context: BrowserContext,
  guard: PageGuard,
  { name, seconds }: { readonly name: string; readonly seconds: number },
): Promise<CallToolResult> {
  const blank = await guard.newTab();
  const others = () => context.pages().filter(page => page !== blank);
  const late = AbortSignal.timeout(seconds * 1_000);
  const closeOthers = async () => {
    // Popups of a tab that closes may still arrive.
    while (others().length > 0 && !late.aborted) await Promise.all(others().map(page => page.close()));
  };
  await Promise.race([closeOthers(), once(late, 'abort')]);
  if (late.aborted) return timeoutResult(name, seconds, 'A page did not close.');
  return { content: [{ type: 'text', text: 'All tabs were closed; one blank tab is open.' }] };
}
