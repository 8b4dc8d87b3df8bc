import type { Page } from 'playwright-core';
import { realClock } from '../../time/clock.ts';
import { isClosedPage } from './addresses.ts';
import { type AwaitedDocuments, awaitedDocuments } from './awaited-documents.ts';
import type { RunnerBrowser } from './browser.ts';
import { followDialogs, type OpenDialogs } from './dialogs.ts';
import { type Incidents, incidents } from './incidents.ts';
import { tokenBucket } from './rate.ts';
import { TabEndings } from './tab-endings.ts';

/** A page can open popups without end; more tabs than this are closed again. */
export const TABS_MAX = 20;

export interface PageGuard {
  /** Whether the next tab would be closed again. */
  isFull(): boolean;
  /** A blank tab beyond the limit, for the caller to close the others. */
  newTab(): Promise<Page>;
  /** The dialogs of all tabs. */
  readonly dialogs: OpenDialogs;
  readonly awaited: AwaitedDocuments;
  /** Such a page answers no script until the dialog is handled. */
  showsDialog(page: Page): boolean;
  /** Whether the dialog is the page's question whether to leave it. */
  asksToLeave(page: Page): boolean;
  /** Resolves when every tab that is being closed here is closed, or does not close. */
  settled(): Promise<void>;
  /**
   * Closes a tab that takes too much, with an incident; a blank tab replaces the last one. `why`: where it is not known of
   * the tab already. Never rejects.
   */
  close(page: Page, why?: string): Promise<void>;
  /** Stops the script that runs there. Attached in advance: a busy page takes no new session. */
  stopScript(page: Page): Promise<void>;
  /** Tabs that were closed and downloads that were cancelled because they took too much. */
  readonly incidents: Incidents;
}

type GuardedBrowser = Pick<RunnerBrowser, 'context' | 'stops' | 'whyStopped'>;

/** Each waits for the agent, and until then no other tool acts on the page. */
const CHOOSERS = { burst: 20, perSecond: 1 };
/** Tabs beyond the limit that are reported; a page that opens them slowly does so for as long as the lease lives. */
const SURPLUS_TOLD = { burst: 3, perSecond: 1 / 60 };
const KEPT_CHOOSING = 'it opened one file chooser after the other';

/**
 * Watches every tab of the lease: one that shows a file of this machine or a page of the browser itself goes back to
 * blank, however it got there, and tabs beyond the limit are closed. `report` is called with what was done.
 */
export function guardPages(browser: GuardedBrowser, report: (what: string, page: Page) => void): PageGuard {
  const { context } = browser;
  const dialogs = followDialogs(context);
  let exempt = false;
  const known = incidents();
  const surplusTold = tokenBucket(SURPLUS_TOLD, realClock.nowMs);
  const endings = new TabEndings(browser, { newTab, known, report });

  async function newTab(): Promise<Page> {
    exempt = true;
    const tab = await context.newPage().finally(() => {
      exempt = false;
    });
    for (const other of context
      .pages()
      .filter(page => page !== tab)
      .slice(TABS_MAX))
      closeSurplus(other);
    return tab;
  }

  function closeSurplus(page: Page): void {
    const why = `more than ${TABS_MAX} are open`;
    report(`A tab was closed: ${why}`, page);
    if (surplusTold.take(1)) known.add({ kind: 'page.closed', url: page.url(), why });
    void page.close().catch(() => undefined);
  }

  browser.stops.on('flood', (targetId, why) => endings.stopFlood(targetId, why));
  browser.stops.on('download', ({ url, why }) => known.add({ kind: 'download.cancelled', url, why }));
  const watch = (page: Page) => {
    endings.watch(page);
    const choosers = tokenBucket(CHOOSERS, realClock.nowMs);
    page.on('filechooser', () => {
      if (!choosers.take(1)) void endings.close(page, KEPT_CHOOSING);
    });
    page.on('framenavigated', frame => {
      if (!isClosedPage(frame.url())) return;
      report(`A frame at a closed address was left: ${new URL(frame.url()).protocol}`, page);
      void page.goto('about:blank').catch(() => page.close().catch(() => undefined));
    });
    if (!exempt && context.pages().length > TABS_MAX) closeSurplus(page);
  };
  for (const page of context.pages()) watch(page);
  context.on('page', watch);
  return {
    isFull: () => context.pages().length >= TABS_MAX,
    newTab,
    incidents: known,
    settled: () => endings.settled(),
    dialogs,
    awaited: awaitedDocuments(context, realClock.nowMs),
    showsDialog: page => dialogs.of(page) !== undefined,
    asksToLeave: page => dialogs.of(page)?.dialog.type() === 'beforeunload',
    close: (page, why) => endings.close(page, why),
    stopScript: page => endings.stopScript(page),
  };
}
