import type { BrowserContext, CDPSession, Page } from 'playwright-core';
import * as z from 'zod';
import { SAVED_TAB_LIMITS, type SavedTab, type SavedTabs } from '../../contract/saved-tabs.ts';
import { within } from '../../time/within.ts';
import { TABS_MAX } from '../browser/page-guard.ts';
import { currentTab } from '../upstream/tabs.ts';

/** A page that does not answer, behind a dialog or a busy script, is saved by its address alone. */
const READ_MS = 1_000;
const BLANK = { url: null, sessionStorage: [], scroll: [0, 0] } satisfies SavedTab;

const READ = `({ sessionStorage: Object.entries({ ...sessionStorage }).map(([name, value]) => [name, String(value)]), scroll: [scrollX, scrollY] })`;
/** A page's own state. */
const pageState = z.object({
  sessionStorage: z.array(z.tuple([z.string(), z.string()])),
  scroll: z.tuple([z.number(), z.number()]),
});

/** Whether each text holds a password or a code. */
export type HoldsEach = (texts: readonly string[]) => Promise<boolean[]>;

/**
 * The tabs in their order. No text that holds a secret leaves, neither in an address, of
 * which the origin is kept, nor in sessionStorage.
 */
export async function readTabs(context: BrowserContext, holdsEach: HoldsEach): Promise<SavedTabs> {
  const pages = context.pages().slice(0, TABS_MAX);
  const current = currentTab(context);
  const active = current === undefined ? -1 : pages.indexOf(current);
  return { tabs: await Promise.all(pages.map(page => readTab(page, holdsEach))), active: active < 0 ? null : active };
}

async function readTab(page: Page, holdsEach: HoldsEach): Promise<SavedTab> {
  const url = page.mainFrame().url(); // whole, however long
  if (!/^https?:/.test(url)) return BLANK;
  const isClosed = url.length > SAVED_TAB_LIMITS.urlMax || (await holdsEach([url])).includes(true);
  const shown = isClosed ? new URL(url).origin : url;
  const { data } = pageState.safeParse(await within(page.evaluate(READ), READ_MS));
  if (data === undefined) return { ...BLANK, url: shown };
  const { sessionStorage, scroll } = data;
  if (JSON.stringify(sessionStorage).length > SAVED_TAB_LIMITS.sessionStorageMax)
    return { url: shown, sessionStorage: [], scroll };
  const held = await holdsEach(sessionStorage.flat());
  const kept = sessionStorage.filter((_item, index) => !held[2 * index] && !held[2 * index + 1]);
  return { url: shown, sessionStorage: kept, scroll };
}

/**
 * Opens the tabs again, in their order, in a browser with one blank tab. Resolves with the number of those that have loaded when all
 * have, or when `signal` aborts: a site that is slow goes on loading.
 */
export async function openTabs(
  context: BrowserContext,
  tabs: readonly SavedTab[],
  signal: AbortSignal,
): Promise<number> {
  const pages: Page[] = [];
  for (const [place] of tabs.entries())
    pages.push((place === 0 ? context.pages()[0] : undefined) ?? (await context.newPage()));
  let loaded = 0;
  const opened = pages.map(async (page, place) => {
    const tab = tabs[place] ?? BLANK;
    if (await openTab(page, tab)) loaded += 1;
  });
  const { promise: late, resolve } = Promise.withResolvers<void>();
  signal.addEventListener('abort', () => resolve(), { once: true });
  await Promise.race([Promise.all(opened), late]);
  return loaded;
}

/** False: it did not load. A page that shows an error can be loaded again by the agent. */
async function openTab(page: Page, { url, sessionStorage, scroll }: SavedTab): Promise<boolean> {
  if (url === null) return true;
  try {
    const session = await page.context().newCDPSession(page);
    if (sessionStorage.length > 0) await storeFirst(page, session, url, sessionStorage);
    await page.goto(url, { waitUntil: 'domcontentloaded' });
    await session.send('Page.resetNavigationHistory');
    await session.detach();
    if (scroll.some(Boolean)) await page.evaluate(`scrollTo(${scroll.join()})`);
    return true;
  } catch {
    return false; // its address is tried, and what it stored would be of no use without it
  }
}

/** sessionStorage is a tab's and an origin's: it is written from an empty page of the origin, without reaching the site. */
async function storeFirst(page: Page, session: CDPSession, url: string, items: SavedTab['sessionStorage']) {
  await session.send('Network.enable');
  await session.send('Network.setBypassServiceWorker', { bypass: true });
  await page.route('**/*', route => route.fulfill({ contentType: 'text/html', body: '' }));
  await page.goto(new URL(url).origin);
  await page.evaluate(stored => {
    for (const [name, value] of stored) sessionStorage.setItem(name, value);
  }, items);
  await page.unroute('**/*');
  await session.send('Network.setBypassServiceWorker', { bypass: false });
}
