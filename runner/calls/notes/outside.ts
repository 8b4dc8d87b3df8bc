import type { BrowserContext, Page } from 'playwright-core';
import { isOutside } from '../../browser/addresses.ts';
import { sessionOf } from '../../browser/page-session.ts';
import { shownAddress } from '../../browser/shown.ts';

/** Things that pages ask of what is outside of the browser, for the results of calls: programs of a desktop, a printer. */
export interface OutsideNotes {
  /** Since it was last asked: a note on each, at most a few. */
  take(): string[];
}

const NOTES_MAX = 5;

const PRINTED =
  'The page asked to print. There is no printer here: browser_take_screenshot with fullPage shows what it would print.';
/** Written by the page's own console, where only results of tools that ask for debug messages show it. */
const PRINT_SIGN = 'omicron-browser: window.print()';
/** Headless browsers do nothing at `window.print()`, and say so nowhere. */
const PRINT_SCRIPT = `(() => {
  const { debug } = console;
  const tell = name => dispatchEvent(new Event(name));
  window.print = function print() { tell('beforeprint'); debug(${JSON.stringify(PRINT_SIGN)}); tell('afterprint'); };
})()`;

const leads = (url: string): string =>
  `The page leads to a program outside of the browser: ${shownAddress(url)}. It is not opened here; the person can open it.`;

const isRedirect = (status: number): boolean => status >= 300 && status < 400;

/** Follows the tabs of a lease. `onFailed`: print dialogs cannot be reported. */
export function outsideNotes(context: BrowserContext, onFailed: (error: unknown) => void): OutsideNotes {
  let notes = new Set<string>();
  const add = (note: string) => {
    if (notes.size < NOTES_MAX) notes.add(note);
  };
  const onAddress = ({ url }: { readonly url: string }) => {
    if (isOutside(url)) add(leads(url));
  };
  const watch = async (page: Page) => {
    const session = await sessionOf(page);
    session.on('Page.frameRequestedNavigation', onAddress).on('Page.windowOpen', onAddress);
    await session.send('Page.enable');
  };
  // A tab that closes at once has no session.
  for (const page of context.pages()) void watch(page).catch(() => undefined);
  context.on('page', page => void watch(page).catch(() => undefined));
  context.on('response', response => {
    if (!isRedirect(response.status())) return;
    const { location } = response.headers();
    if (location !== undefined) onAddress({ url: location });
  });
  context.on('console', message => {
    if (message.type() === 'debug' && message.text() === PRINT_SIGN) add(PRINTED);
  });
  context.addInitScript(PRINT_SCRIPT).catch(onFailed);
  return {
    take() {
      const taken = [...notes];
      notes = new Set();
      return taken;
    },
  };
}
