import type { BrowserContext, Page, Request } from 'playwright-core';
import { REFUSAL_HEADER } from '../../../contract/egress.ts';
import { isOutside } from '../../browser/addresses.ts';
import { pageScript } from '../../browser/page-script.ts';
import { sessionOf } from '../../browser/page-session.ts';
import { shownAddress } from '../../browser/shown.ts';

/** Things that pages ask of what is outside of the browser, for the results of calls: programs of a desktop, a printer. */
export interface OutsideNotes {
  /** Since it was last asked: a note on each, at most a few. */
  take(): string[];
}

const NOTES_MAX = 5;

/** Written by the page's own console, where only results of tools that ask for debug messages show it; each with its note. */
const ASKED: Readonly<Record<string, readonly [sign: string, note: string]>> = {
  print: [
    'omicron-browser: window.print()',
    'The page asked to print. There is no printer here: browser_take_screenshot with fullPage shows what it would print.',
  ],
  value: [
    'omicron-browser: showPicker()',
    'The page opened the picker of a field, which is not shown here: set the field itself (browser_type, browser_fill_form or browser_select_option).',
  ],
  save: [
    'omicron-browser: showSaveFilePicker()',
    'The page asked where to save a file: once it has written it, the file is downloaded, and listed by browser_file_list.',
  ],
  folder: [
    'omicron-browser: showDirectoryPicker()',
    'The page asked for a folder. No folder can be given here, and the page got none: look for another way to give it single files.',
  ],
};
const NOTES = new Map(Object.values(ASKED));
const SIGNS = Object.fromEntries(Object.entries(ASKED).map(([name, [sign]]) => [name, sign]));
const SCRIPT = `(${pageScript(new URL('./outside.page.js', import.meta.url))})(${JSON.stringify(SIGNS)})`;

const leads = (url: string): string =>
  `The page leads to a program outside of the browser: ${shownAddress(url)}. It is not opened here; the person can open it.`;

const answers = (url: string): string =>
  `The page answers a program on the person's own computer, which is not here: ${shownAddress(url)}. Give the person this address to open there.`;

/** The answer of a sign-in to a program of a desktop, which listens on a port of its machine: https://www.rfc-editor.org/rfc/rfc8252#section-7.3 */
const isSignInOfProgram = (url: string): boolean =>
  /^http:\/\/(?:localhost|127(?:\.\d+){3}|\[::1\])(?::\d+)?\/.*[?#&](?:code|error|access_token|id_token|token)=/i.test(
    url,
  );

const withoutHash = (url: string): string => url.split('#', 1)[0] ?? '';

const isRedirect = (status: number): boolean => status >= 300 && status < 400;

/** Follows the tabs of a lease. `onFailed`: print dialogs and pickers cannot be reported. */
export function outsideNotes(context: BrowserContext, onFailed: (error: unknown) => void): OutsideNotes {
  let notes = new Set<string>();
  const add = (note: string) => {
    if (notes.size < NOTES_MAX) notes.add(note);
  };
  /** Places of a desktop's programs that pages led to, whole: a request has no fragment. */
  const ownMachine = new Map<string, string>();
  const onAddress = ({ url }: { readonly url: string }) => {
    if (isOutside(url)) add(leads(url));
    else if (isSignInOfProgram(url) && ownMachine.size < NOTES_MAX) ownMachine.set(withoutHash(url), url);
  };
  /** Nothing here answers there, or the way out is closed to it. */
  const onMissing = (request: Request) => {
    const url = ownMachine.get(withoutHash(request.url()));
    if (url !== undefined && request.isNavigationRequest()) add(answers(url));
  };
  const watch = async (page: Page) => {
    const session = await sessionOf(page);
    session.on('Page.frameRequestedNavigation', onAddress).on('Page.windowOpen', onAddress);
    await session.send('Page.enable');
  };
  // A tab that closes at once has no session.
  for (const page of context.pages()) void watch(page).catch(() => undefined);
  context.on('page', page => void watch(page).catch(() => undefined));
  context.on('requestfailed', onMissing);
  context.on('response', response => {
    if (response.headers()[REFUSAL_HEADER] !== undefined) onMissing(response.request());
    if (!isRedirect(response.status())) return;
    const { location } = response.headers();
    if (location !== undefined) onAddress({ url: location });
  });
  context.on('console', message => {
    const note = message.type() === 'debug' ? NOTES.get(message.text()) : undefined;
    if (note !== undefined) add(note);
  });
  context.addInitScript(SCRIPT).catch(onFailed);
  return {
    take() {
      const taken = [...notes];
      notes = new Set();
      ownMachine.clear();
      return taken;
    },
  };
}
