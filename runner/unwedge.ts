import { setTimeout as delay } from 'node:timers/promises';
import type { BrowserContext, Page } from 'playwright-core';
import type { PageGuard } from './page-guard.ts';

const ANSWER_MS = 1_000;

/**
 * Frees the tabs whose scripts never end: Playwright MCP asks every tab for its title in every call, so one of them
 * would block all. First the running script is stopped; a tab that still does not answer is closed. Returns what was
 * done, for the agent. A tab that shows a dialog is well: it waits for browser_handle_dialog.
 */
export async function unwedge(context: BrowserContext, guard: PageGuard): Promise<string[]> {
  const notes = await Promise.all(
    context.pages().map(async page => {
      if (guard.showsDialog(page) || (await answers(page))) return undefined;
      await stopScript(page);
      if (await answers(page)) return `A script that did not end was stopped on ${page.url()}.`;
      await within(page.close());
      return `The tab of ${page.url()} did not answer and was closed.`;
    }),
  );
  return notes.filter(note => note !== undefined);
}

const within = <T>(work: Promise<T>): Promise<T | undefined> =>
  Promise.race([work.catch(() => undefined), delay(ANSWER_MS, undefined, { ref: false })]);

const answers = async (page: Page): Promise<boolean> =>
  page.isClosed() || (await within(page.title().then(() => true))) === true;

async function stopScript(page: Page): Promise<void> {
  const session = await within(page.context().newCDPSession(page));
  if (session === undefined) return;
  await within(session.send('Runtime.terminateExecution'));
  await within(session.detach());
}
