import { setTimeout as delay } from 'node:timers/promises';
import type { BrowserContext, Frame, Page, Request } from 'playwright-core';
import type { AwaitedDocuments } from '../browser/awaited-documents.ts';
import { frameOf, tabOfDocument } from '../browser/request-frame.ts';
import { GIVEN_UP, loadedOrBroken } from './loaded.ts';
import { type Challenge, type Look, type QuietPage, quietPage } from './quiet-page.ts';
import { type ActionRequests, REQUESTS_MAX, type RequestWatch, watchRequests } from './requests.ts';

/**
 * Runs an action on a page and resolves with its outcome once the page has answered: documents that it asked for are
 * loaded, its requests have ended, and what it shows is quiet. Bounded: a page that never rests is not waited for. Rejects
 * as the action does.
 */
export type Settled = <T>(page: Page, action: () => Promise<T>, options?: SettleOptions<T>) => Promise<T>;

export interface Settler {
  readonly settled: Settled;
  /** The challenge that the page shows, as the call left it; undefined if there is none or the page does not answer. */
  challenge(page: Page): Promise<Challenge | undefined>;
  /** The look of the page's own document, as the call left it; undefined: it does not answer. */
  look(page: Page): Promise<Look | undefined>;
  /** Whether the body of the tab's document ended before it was whole. */
  isBrokenOff(page: Page): boolean;
  /** A call begins: what the one before left is not looked at any more. `named`: looks give the state of what is shown. */
  begin(named: boolean): void;
}

export interface SettleOptions<T> {
  /** The first change comes in this time. */
  readonly firstMs?: number;
  /** The action is a key: where no script hears of it and nothing moves, no change comes later. */
  readonly isKey?: boolean;
  /** Skips the wait for such an outcome. */
  readonly unless?: (outcome: T) => boolean;
  /**
   * How the action begins: `asks` the page's own process before it changes anything, with a `script` over `sessionOf` the page, or with
   * `input` (default) that the browser sends, which may overtake what the page was sent; the page's answer is awaited first.
   */
  readonly begins?: 'asks' | 'script' | 'input';
}

export interface SettlerOptions {
  readonly nowMs: () => number;
  readonly awaited: Pick<AwaitedDocuments, 'arrived'>;
  /** Time for each answer of a page, in milliseconds. */
  readonly answerMs?: number;
}

/** After a change the page is quiet for this long. */
const QUIET_MS = 80;
/** An answer of the page to a click comes in this time. */
export const FIRST_CHANGE_MS = 350;
/** Two frames: a key that no script hears of has shown by then what it does. */
const UNHEARD_MS = 34;
/** A page may change for this long. */
const QUIET_CAP_MS = 700;
const QUIET = { quietMs: QUIET_MS, viewMs: FIRST_CHANGE_MS, capMs: QUIET_CAP_MS };
/** A request that hangs, of a page that shows something new. */
const HANGING_MS = 1_000;
const REQUESTS_CAP_MS = 5_000;
/** Requests that end together are looked at together. */
const TOGETHER_MS = 5;
/** In all. */
const CAP_MS = 10_000;
/** Time in which the requests of a document may load, from the start. */
const LOAD_CAP_MS = 5_000;
const LOAD_MS_MIN = 1_000;
/** Documents that go away, or do not answer. */
const LOST_MAX = 3;
/** A document that is here is shown in this time, or is a download. */
const COMMIT_MS = 500;

export function settler(context: BrowserContext, { nowMs, awaited, answerMs }: SettlerOptions): Settler {
  let named = false;
  const requests = watchRequests(context, nowMs);
  const pages = new WeakMap<Page, QuietPage>();
  const quietOf = (page: Page): QuietPage => {
    const quiet = pages.get(page) ?? quietPage(page, () => named, answerMs);
    pages.set(page, quiet);
    return quiet;
  };
  const broken = watchBroken(context);
  // Attached in advance: a busy page takes no new session. And asked, so that the first action of all finds what asks there.
  for (const page of context.pages()) void quietOf(page).look();
  context.on('page', quietOf);

  /** The page as the call left it. After an action it is known without a question: the answer to its end brings the look. */
  let left: { readonly page: Page; readonly look: Promise<Look | undefined> } | undefined;
  function look(page: Page): Promise<Look | undefined> {
    if (left?.page !== page) left = { page, look: quietOf(page).look() };
    return left.look;
  }

  const settled: Settled = async (
    page,
    action,
    { firstMs = FIRST_CHANGE_MS, isKey = false, unless, begins = 'input' } = {},
  ) => {
    const answer = watchAnswer(context, page, requests);
    const quiet = quietOf(page);
    let looked: Look | undefined;
    try {
      const begun = quiet.begin();
      const hears = isKey ? quiet.hears() : Promise.resolve(true);
      if (begins === 'script') await begun.sent;
      else if (begins === 'input') await begun.answered;
      const unheardMs = (await hears) ? undefined : UNHEARD_MS;
      const outcome = await action();
      if (unless?.(outcome) !== true) {
        const rested = rest(page, answer, { quiet, firstMs, unheardMs, nowMs }).then(async look => {
          if (answer.opened.length === 0) return look;
          // A window begins with what it asks of its person: a dialog, which the answer has to report.
          await Promise.all(
            answer.opened.map(tab => quietOf(tab).quiet({ ...QUIET, firstMs: FIRST_CHANGE_MS, had: false })),
          );
          return undefined;
        });
        looked = (await Promise.race([rested, answer.stopped, wait(CAP_MS)])) ?? undefined;
      }
      return outcome;
    } finally {
      await Promise.all([page, ...answer.opened].map(tab => awaited.arrived(tab)));
      const moved = answer.hasMoved();
      answer.stop();
      if (moved) prepare(page);
      const ended = quiet.end();
      left = { page, look: looked === undefined ? ended : Promise.resolve(looked) };
    }
  };

  return {
    settled,
    async challenge(page) {
      const known = look(page);
      left = undefined; // who asks again wants to know it as it is then
      return (await known)?.challenge ?? undefined;
    },
    look,
    isBrokenOff: page => broken.has(page),
    begin(isNamed) {
      left = undefined;
      named = isNamed;
    },
  };
}

/** The tabs whose document broke off after it had begun. */
function watchBroken(context: BrowserContext): Pick<WeakSet<Page>, 'has'> {
  const broken = new WeakSet<Page>();
  context.on('requestfailed', request => {
    const tab = tabOfDocument(request);
    if (tab !== undefined && request.failure()?.errorText !== GIVEN_UP) broken.add(tab);
  });
  const follow = (page: Page) =>
    page.on('framenavigated', frame => {
      if (frame === page.mainFrame()) broken.delete(page);
    });
  context.pages().forEach(follow);
  context.on('page', follow);
  return broken;
}

/** Brings Playwright's own script into a new document: what comes next needs it, and would wait for it. */
function prepare(page: Page): void {
  page
    .locator(':root')
    .count()
    .catch(() => undefined); // the document went away
}

/** Signs that a page answers an action. */
interface Answer {
  readonly requests: ActionRequests;
  /** The tabs that opened meanwhile. */
  readonly opened: readonly Page[];
  /** The action opened a tab, moved the page or began a download. */
  hasMoved(): boolean;
  /** Resolves when there is nothing to wait for any more: a dialog opened, behind which nothing happens (one of another tab holds this one too), or the page closed. */
  readonly stopped: Promise<void>;
  /** Resolves when the next request begins or ends. */
  next(): Promise<void>;
  stop(): void;
}

function watchAnswer(context: BrowserContext, page: Page, watch: RequestWatch): Answer {
  const { promise: stopped, resolve: end } = Promise.withResolvers<void>();
  let sign = Promise.withResolvers<void>();
  let hasMoved = false;
  const tell = () => {
    sign.resolve();
    sign = Promise.withResolvers();
  };
  // A page can move without end, so a move alone does not resolve the sign.
  const onMoved = () => {
    hasMoved = true;
  };
  const opened: Page[] = [];
  const onOpened = (tab: Page) => {
    opened.push(tab);
    onMoved();
  };
  const onNavigated = (frame: Frame) => {
    if (frame === page.mainFrame()) onMoved();
  };
  const onStopped = () => end();
  const requests = watch.begin(page, tell);
  context.on('page', onOpened).on('dialog', onStopped);
  page.on('framenavigated', onNavigated).on('download', onMoved).on('close', onStopped);
  return {
    requests,
    opened,
    stopped,
    hasMoved: () => hasMoved,
    next: () => sign.promise,
    stop() {
      requests.stop();
      context.off('page', onOpened).off('dialog', onStopped);
      page.off('framenavigated', onNavigated).off('download', onMoved).off('close', onStopped);
    },
  };
}

/** Resolves with a look at the page, where it was seen to be quiet. */
async function rest(
  page: Page,
  answer: Answer,
  { quiet, firstMs, unheardMs, nowMs }: Rules,
): Promise<Look | undefined> {
  const { requests } = answer;
  const endMs = nowMs() + REQUESTS_CAP_MS;
  let loaded = false;
  let lost = 0;
  while (requests.documents.size > 0 || nowMs() < endMs) {
    const [document] = requests.documents.keys();
    if (document !== undefined) {
      loaded = (await arrived(page, document, answer, nowMs)) || loaded;
      continue;
    }
    // A document that asked for nothing else shows all it has once it is loaded.
    if ((loaded && requests.count === 1) || requests.count >= REQUESTS_MAX) return undefined;
    if (requests.pending.size > 0) {
      await Promise.race([answer.next(), wait(HANGING_MS / 5)]);
      await wait(TOGETHER_MS);
      const hanging = [...requests.pending].filter(([, sinceMs]) => nowMs() - sinceMs > HANGING_MS);
      if (hanging.length > 0 && (loaded || (await quiet.shows()))) requests.giveUp(hanging.map(([request]) => request));
      continue;
    }
    const had = requests.count > 0 || answer.hasMoved();
    const found = await Promise.race([
      quiet.quiet({ ...QUIET, firstMs, unheardMs, had }),
      answer.next().then(() => 'sign' as const),
    ]);
    if (found === 'sign') continue;
    if (found !== undefined || ++lost > LOST_MAX) return found;
  }
  return undefined;
}

interface Rules {
  readonly quiet: QuietPage;
  readonly firstMs: number;
  readonly unheardMs: number | undefined;
  readonly nowMs: () => number;
}

/** Resolves with whether the document is here and loaded. */
async function arrived(page: Page, request: Request, answer: Answer, nowMs: () => number): Promise<boolean> {
  const { requests } = answer;
  const sinceMs = requests.documents.get(request) ?? nowMs();
  try {
    // A frame that hangs is not waited for as the page itself is.
    const isInPage = (frameOf(request) ?? page.mainFrame()) !== page.mainFrame();
    const leftMs = () => sinceMs + LOAD_CAP_MS - nowMs();
    const answerMs = isInPage ? Math.max(0, leftMs()) : CAP_MS;
    const response = await Promise.race([request.response().catch(() => null), wait(answerMs)]);
    if (!response || request.redirectedTo() !== null) return false;
    const frame = frameOf(request) ?? page.mainFrame();
    const untilMs = nowMs() + COMMIT_MS;
    const isCommitted = () => withoutHash(frame.url()) === withoutHash(response.url());
    while (!isCommitted() && requests.documents.has(request) && nowMs() < untilMs)
      await Promise.race([answer.next(), wait(COMMIT_MS / 10)]);
    // A download, or an empty answer, leaves the page where it is.
    if (!requests.documents.has(request)) return false;
    const timeout = Math.max(isInPage ? 1 : LOAD_MS_MIN, leftMs()); // 0 would be without end
    await loadedOrBroken(frame, response, timeout);
    return true;
  } finally {
    requests.giveUp([request]);
  }
}

const withoutHash = (url: string): string => url.split('#', 1)[0] ?? '';

const wait = (ms: number): Promise<void> => delay(ms, undefined, { ref: false });
