import type { BrowserContext, CDPSession, Page } from 'playwright-core';
import { isClosedPage } from './addresses.ts';

/** A page can open popups without end; more tabs than this are closed again. */
export const TABS_MAX = 20;

export interface PageGuard {
  /** Whether the next tab would be closed again. */
  isFull(): boolean;
  /** A blank tab beyond the limit, for the caller to close the others. */
  newTab(): Promise<Page>;
  /** Such a page answers no script until the dialog is handled. */
  showsDialog(page: Page): boolean;
  /** Stops the script that runs there. Attached in advance: a busy page takes no new session. */
  stopScript(page: Page): Promise<void>;
}

/**
 * Watches every tab of the lease: one that shows a file of this machine or a page of the browser itself goes back to
 * blank, however it got there, and tabs beyond the limit are closed. `report` is called with what was done.
 */
export function guardPages(context: BrowserContext, report: (what: string, page: Page) => void): PageGuard {
  const dialogs = new Map<Page, number>();
  const count = (page: Page, by: number) => dialogs.set(page, (dialogs.get(page) ?? 0) + by);
  let exempt = false;
  const sessions = new WeakMap<Page, Promise<CDPSession | undefined>>();
  const watch = (page: Page) => {
    sessions.set(
      page,
      context.newCDPSession(page).catch(() => undefined),
    );
    page.on('dialog', () => count(page, 1));
    page.on('dialogclosed', () => count(page, -1));
    page.on('close', () => dialogs.delete(page));
    page.on('framenavigated', frame => {
      if (!isClosedPage(frame.url())) return;
      report(`A frame at a closed address was left: ${frame.url()}`, page);
      void page.goto('about:blank').catch(() => page.close().catch(() => undefined));
    });
    if (exempt || context.pages().length <= TABS_MAX) return;
    report(`A tab was closed: more than ${TABS_MAX} are open`, page);
    void page.close().catch(() => undefined);
  };
  for (const page of context.pages()) watch(page);
  context.on('page', watch);
  return {
    isFull: () => context.pages().length >= TABS_MAX,
    async newTab() {
      exempt = true;
      return context.newPage().finally(() => {
        exempt = false;
      });
    },
    showsDialog: page => (dialogs.get(page) ?? 0) > 0,
    async stopScript(page) {
      await (await sessions.get(page))?.send('Runtime.terminateExecution');
    },
  };
}
