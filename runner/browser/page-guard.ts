import type { CDPSession, Page } from 'playwright-core';
import { realClock } from '../../time/clock.ts';
import { within } from '../../time/within.ts';
import { isClosedPage } from './addresses.ts';
import type { RunnerBrowser } from './browser.ts';
import { followDialogs, type OpenDialogs } from './dialogs.ts';
import { type Incidents, incidents } from './incidents.ts';
import { tokenBucket } from './rate.ts';

/** A page can open popups without end; more tabs than this are closed again. */
export const TABS_MAX = 20;

export interface PageGuard {
  /** Whether the next tab would be closed again. */
  isFull(): boolean;
  /** A blank tab beyond the limit, for the caller to close the others. */
  newTab(): Promise<Page>;
  /** The dialogs of all tabs. */
  readonly dialogs: OpenDialogs;
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

/** Time in which a page ends once it is asked to; afterwards it is left to the memory watch. */
const CRASH_MS = 3_000;
/** A tab that does not close in this time must not keep the others from being closed. */
const CLOSE_MS = 2_000;
/** Each waits for the agent, and until then no other tool acts on the page. */
const CHOOSERS = { burst: 20, perSecond: 1 };
/** Tabs beyond the limit that are reported; a page that opens them slowly does so for as long as the lease lives. */
const SURPLUS_TOLD = { burst: 3, perSecond: 1 / 60 };
const KEPT_CHOOSING = 'it opened one file chooser after the other';
const CRASHED = 'its process ended, most often for lack of memory';

/**
 * Watches every tab of the lease: one that shows a file of this machine or a page of the browser itself goes back to
 * blank, however it got there, and tabs beyond the limit are closed. `report` is called with what was done.
 */
export function guardPages(browser: GuardedBrowser, report: (what: string, page: Page) => void): PageGuard {
  const { context } = browser;
  const dialogs = followDialogs(context);
  let exempt = false;
  const sessions = new WeakMap<Page, Promise<CDPSession | undefined>>();
  const targets = new WeakMap<Page, Promise<string | undefined>>();
  const reasons = new WeakMap<Page, string>();
  const ended = new WeakMap<Page, Promise<void>>();
  const known = incidents();
  const surplusTold = tokenBucket(SURPLUS_TOLD, realClock.nowMs);
  let keeping = Promise.resolve();
  const closing = new Set<Promise<void>>();

  const newTab = async (): Promise<Page> => {
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
  };

  function closeSurplus(page: Page): void {
    const why = `more than ${TABS_MAX} are open`;
    report(`A tab was closed: ${why}`, page);
    if (surplusTold.take(1)) known.add({ kind: 'page.closed', url: page.url(), why });
    void page.close().catch(() => undefined);
  }

  /** The last tab must know that it is the last: so one looks after the other. */
  async function endTab(page: Page): Promise<void> {
    if (page.isClosed()) return;
    const end = ended.get(page) ?? follow(begin(page));
    ended.set(page, end);
    await end;
  }

  function close(page: Page, why?: string): Promise<void> {
    if (why !== undefined && !ended.has(page)) reasons.set(page, why);
    return endTab(page);
  }

  function begin(page: Page): Promise<void> {
    const stopped = browser.whyStopped();
    const why = reasons.get(page) ?? stopped?.why ?? CRASHED;
    known.add({ kind: 'page.closed', url: page.url(), why });
    report(`A tab was closed: ${why}`, page);
    keeping = keeping.then(() => keepOne(page));
    return keeping.then(() => closeTab(page, stopped?.stored === true));
  }

  function follow(work: Promise<void>): Promise<void> {
    const followed = work.finally(() => closing.delete(followed));
    closing.add(followed);
    return followed;
  }

  async function settled(): Promise<void> {
    await Promise.all(closing);
  }

  /** The lease lives on: a blank tab takes the place of its last one. */
  async function keepOne(page: Page): Promise<void> {
    if (context.pages().every(other => other === page || ended.has(other))) await inTime(newTab());
  }

  async function closeTab(page: Page, clears: boolean): Promise<void> {
    const origins = new Set(page.frames().map(frame => URL.parse(frame.url())?.origin ?? 'null'));
    await inTime(page.close());
    const [rest] = context.pages().filter(other => !ended.has(other));
    if (clears && rest !== undefined) await inTime(clearStored(sessions.get(rest), [...origins]));
  }

  async function stopFlood(targetId: string, why: string): Promise<void> {
    const idOf = async (page: Page) => ({ page, id: await inTime(targets.get(page)) });
    const page = (await Promise.all(context.pages().map(idOf))).find(({ id }) => id === targetId)?.page;
    if (page === undefined || reasons.has(page)) return;
    reasons.set(page, why);
    const session = await inTime(sessions.get(page));
    const crashed = page.waitForEvent('crash', { timeout: CRASH_MS }).catch(() => undefined);
    // Never answered: the renderer ends on the thread that reads it, however busy its script is.
    void session?.send('Page.crash').catch(() => undefined);
    await crashed;
    await endTab(page);
  }
  browser.stops.on('flood', (targetId, why) => void follow(stopFlood(targetId, why)));
  browser.stops.on('download', ({ url, why }) => known.add({ kind: 'download.cancelled', url, why }));
  const watch = (page: Page) => {
    const session = context.newCDPSession(page).catch(() => undefined);
    sessions.set(page, session);
    targets.set(page, targetOf(session));
    page.on('crash', () => void endTab(page));
    const choosers = tokenBucket(CHOOSERS, realClock.nowMs);
    page.on('filechooser', () => {
      if (!choosers.take(1)) void close(page, KEPT_CHOOSING);
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
    settled,
    dialogs,
    showsDialog: page => dialogs.of(page) !== undefined,
    asksToLeave: page => dialogs.of(page)?.dialog.type() === 'beforeunload',
    close,
    async stopScript(page) {
      await (await sessions.get(page))?.send('Runtime.terminateExecution');
    },
  };
}

const inTime = async <T>(work: Promise<T> | undefined): Promise<T | undefined> => work && within(work, CLOSE_MS);

const targetOf = async (session: Promise<CDPSession | undefined>): Promise<string | undefined> =>
  (await (await session)?.send('Target.getTargetInfo').catch(() => undefined))?.targetInfo.targetId;

/** A lease's browser keeps what pages store in its memory: databases, caches and files, but for cookies. */
async function clearStored(session: Promise<CDPSession | undefined> | undefined, origins: readonly string[]) {
  const storageTypes = 'indexeddb,cache_storage,file_systems';
  for (const origin of origins.filter(each => each !== 'null'))
    await (await session)?.send('Storage.clearDataForOrigin', { origin, storageTypes }).catch(() => undefined);
}
