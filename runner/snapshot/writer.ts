import { setTimeout as delay } from 'node:timers/promises';
import type { BrowserContext, Frame, Page } from 'playwright-core';
import { within } from '../../time/within.ts';
import { isWithoutDocument, playwrightFrame } from '../browser/playwright-frame.ts';
import type { Conceal } from '../budget/cut.ts';
import { estimateTokens } from '../budget/estimate.ts';
import { ariaTree } from './aria-tree.ts';
import { changesSince, indexLines, type Known } from './changes.ts';
import { concealOutline } from './conceal.ts';
import type { findInOutline, Pattern } from './find.ts';
import { ELEMENTS_MAX, writeLargePage } from './large-page.ts';
import type { layout } from './layout.ts';
import type { Outline, outlineOf } from './outline.ts';
import { SNAPSHOT_MS, type View } from './view.ts';

export interface Wanted extends View {
  readonly timeoutMs: number;
  /** Only this element. */
  readonly ref?: string | undefined;
  /** Levels of the tree. */
  readonly depth?: number | undefined;
  /** The first line. */
  readonly from?: number | undefined;
}

/**
 * Writes what a page shows, for agents. Each snapshot of a page has a number, and what is written after an action names the
 * snapshot whose changes it gives: an agent that has not seen that one asks for the whole page.
 */
export interface SnapshotWriter {
  /** After an action: the changes, or the whole page where it is another one. Rejects when the page does not answer in time. */
  after(page: Page, view: View, signal: AbortSignal): Promise<string>;
  /** The whole page, or one element; undefined: the ref is not there. */
  whole(page: Page, wanted: Wanted, signal: AbortSignal): Promise<string | undefined>;
  /** The lines of the page that match. */
  find(page: Page, pattern: Pattern, wanted: Wanted, signal: AbortSignal): Promise<string>;
}

/** As much of a page as is shown. */
type Extent = Pick<Wanted, 'tokensMax' | 'depth' | 'from'>;

/** The page as the agents have seen it. */
interface Seen {
  readonly page: Page;
  readonly number: number;
  readonly address: string;
  readonly title: string;
  readonly tabs: string;
  readonly lines: Known;
  /** The state at the look at it; null: unknown. */
  readonly state: string | null;
}

/** A look at the page's own document. */
interface Look {
  readonly elements: number;
  readonly title: string;
  /** Another look that finds the same found what this one did, which is all that a snapshot shows; null: unknown. */
  readonly state: string | null;
}

/** More than this of a page is another page. */
const CHANGED_MAX = 0.6;
const GONE_SHOWN = 5;
const HEAD_TOKENS = 100;

/** Writes lines, without holding the runner's thread where there are many. */
export interface LineWriter {
  outlineOf(...args: Parameters<typeof outlineOf>): Promise<Outline[]>;
  find(...args: Parameters<typeof findInOutline>): Promise<string>;
  layout(...args: Parameters<typeof layout>): Promise<string>;
}

/** `look` says what the page's own document is, after an action; undefined: it is asked here. */
export function snapshotWriter(
  context: BrowserContext,
  conceal: Conceal,
  look: (page: Page) => Promise<Look | undefined>,
  { outlineOf: outlineFrom, find, layout }: LineWriter,
): SnapshotWriter {
  let count = 0;
  let seen: Seen | undefined;
  /** A tab did since what was seen; it may look like one that was closed. */
  let opened = false;
  watchPages(context, {
    changed: page => {
      if (seen?.page === page) seen = undefined;
    },
    opened: () => {
      opened = true;
    },
  });

  async function read(page: Page, timeoutMs: number, signal: AbortSignal, looked?: Look, isLarge = false) {
    const [{ tree, hasClosedRoots }, title, tabs] = await Promise.all([
      ariaTree(page, timeoutMs, signal, { isLarge }),
      looked?.title ?? page.title().catch(() => ''),
      tabsOf(context, page),
    ]);
    const { outline, whole } = await concealOutline(await outlineFrom(tree, { hasBoundedLines: true }), conceal);
    const [address, state] = [page.url(), hasClosedRoots ? null : (looked?.state ?? null)];
    return { outline, whole, address, title: await conceal(title), tabs: await conceal(tabs), state };
  }
  type Read = Awaited<ReturnType<typeof read>>;

  /** Numbers what is about to be shown; what comes after it is compared with it. */
  function show(page: Page, { outline, whole, ...result }: Read): number {
    count += 1;
    opened = false;
    seen = whole ? { ...result, page, number: count, lines: indexLines(outline) } : undefined;
    return count;
  }

  /** Says that a page is as it was seen, which is not read again; undefined: it may have changed. Other tabs change by themselves. */
  function unchanged(page: Page, state: string | null | undefined): string | undefined {
    const before = seen;
    if (before === undefined || before.state === null || before.state !== state) return undefined;
    if (before.address !== page.url() || before.tabs !== '' || context.pages().length > 1) return undefined;
    count += 1;
    seen = { ...before, number: count };
    return `${changesHead(count, before)}\n${NO_CHANGES}`;
  }

  async function wholePage(page: Page, result: Read, wanted: Extent): Promise<string> {
    const head = writeHead(show(page, result), result);
    return `${head}\n${await layout(result.outline, layoutOptions(head, wanted))}`;
  }

  function largePage(page: Page, elements: number, view: View, signal: AbortSignal): Promise<string> {
    seen = undefined;
    return writeLargePage(page, elements, signal, async (tree, head) => {
      const { outline } = await concealOutline(await outlineFrom(tree, { hasBoundedLines: true }), conceal);
      return layout(outline, { tokensMax: roomFor(head, view.tokensMax) });
    });
  }

  return {
    async after(page, view, signal) {
      const looked = await look(page);
      const elements = await elementsOf(page, looked?.elements);
      if (elements > ELEMENTS_MAX) return largePage(page, elements, view, signal);
      const same = view.snapshot === 'changes' ? unchanged(page, looked?.state) : undefined;
      if (same !== undefined) return same;
      const before = seen;
      const result = await read(page, SNAPSHOT_MS, signal, looked);
      const isSame = before?.page === page && withoutHash(before.address) === withoutHash(result.address);
      // A document that was loaded meanwhile is another one, whose refs mean something else.
      if (view.snapshot !== 'changes' || !isSame || seen !== before || !result.whole)
        return wholePage(page, result, view);
      const changes = changesSince(before.lines, result.outline);
      if (changes.share > CHANGED_MAX) return wholePage(page, result, view);
      const hasTabs = opened || before.tabs !== result.tabs;
      const { tokensMax } = view;
      return writeChanges({ number: show(page, result), before, result, changes, hasTabs, tokensMax, layout });
    },
    async whole(page, wanted, signal) {
      const isLarge = (await elementsOf(page)) > ELEMENTS_MAX;
      const result = await read(page, wanted.timeoutMs, signal, undefined, isLarge);
      if (wanted.ref === undefined) return wholePage(page, result, wanted);
      const part = partOf(result.outline, wanted.ref);
      if (part.length === 0) return undefined;
      return layout(part, { ...layoutOptions('', wanted), all: true });
    },
    async find(page, pattern, { timeoutMs, tokensMax }, signal) {
      const isLarge = (await elementsOf(page)) > ELEMENTS_MAX;
      const { tree } = await ariaTree(page, timeoutMs, signal, { isLarge });
      const { outline } = await concealOutline(await outlineFrom(tree, { hasBoundedLines: false }), conceal);
      return find(outline, pattern, tokensMax);
    },
  };
}

const NO_CHANGES = 'No changes.';

/** Reports the pages whose document may have changed, and new pages, for as long as the context lives. */
function watchPages(context: BrowserContext, on: { changed(page: Page): void; opened(): void }): void {
  const watch = (page: Page): void => {
    const changed = () => on.changed(page);
    page.on('domcontentloaded', changed).on('dialog', changed).on('close', changed);
  };
  for (const page of context.pages()) watch(page);
  context.on('page', page => {
    watch(page);
    on.opened();
  });
}

/** The lines above the outline of a whole page. */
function writeHead(number: number, { address, title, tabs }: Pick<Seen, 'address' | 'title' | 'tabs'>): string {
  const open = tabs === '' ? [] : ['### Open tabs', tabs];
  return ['### Page', `- Page URL: ${address}`, `- Page Title: ${title}`, ...open, `### Snapshot ${number}`].join('\n');
}

/** The outline's share of the budget, below these lines. */
const layoutOptions = (head: string, { tokensMax, depth, from }: Extent) => ({
  tokensMax: roomFor(head, tokensMax),
  isNumbered: true,
  ...(from === undefined ? {} : { from }),
  ...(depth === undefined ? {} : { depth }),
});

interface WrittenChanges {
  /** The number of the snapshot that is written. */
  readonly number: number;
  readonly before: Seen;
  readonly result: Pick<Seen, 'address' | 'title' | 'tabs'>;
  readonly changes: ReturnType<typeof changesSince>;
  readonly hasTabs: boolean;
  readonly tokensMax: number;
  readonly layout: LineWriter['layout'];
}

/** The changes of a page since the snapshot before, with all of its head that changed. */
async function writeChanges(written: WrittenChanges): Promise<string> {
  const { number, before, result, changes, hasTabs, tokensMax, layout } = written;
  const head = [
    changesHead(number, before),
    ...(before.address === result.address ? [] : [`- Page URL: ${result.address}`]),
    ...(before.title === result.title ? [] : [`- Page Title: ${result.title}`]),
    ...(hasTabs ? ['### Open tabs', result.tabs === '' ? 'only this one' : result.tabs] : []),
  ].join('\n');
  const gone = goneLine(changes.gone);
  const room = roomFor(head + gone, tokensMax);
  const text = changes.outline.length === 0 ? '' : await layout(changes.outline, { tokensMax: room });
  return [head, text, gone, text + gone === '' ? NO_CHANGES : ''].filter(each => each !== '').join('\n');
}

const changesHead = (number: number, before: Seen): string =>
  `### Snapshot ${number}, changes since snapshot ${before.number}`;

const roomFor = (head: string, tokensMax: number): number =>
  Math.max(1, tokensMax - estimateTokens(head) - HEAD_TOKENS);

function goneLine(gone: readonly string[]): string {
  if (gone.length === 0) return '';
  const more = gone.length > GONE_SHOWN ? ` and ${gone.length - GONE_SHOWN} more` : '';
  return `Gone: ${gone.slice(0, GONE_SHOWN).join(', ')}${more}`;
}

/** Empty where there is only one. */
async function tabsOf(context: BrowserContext, current: Page): Promise<string> {
  const pages = context.pages();
  if (pages.length < 2) return '';
  const lines = pages.map(async (page, index) => {
    const title = page === current ? '' : await titleOf(page);
    return `- ${index}: ${page === current ? '(current) ' : ''}${title === '' ? '' : `[${title.replaceAll(']', ')')}] `}${page.url()}`;
  });
  return (await Promise.all(lines)).join('\n');
}

const TITLE_MS = 300;
/** A tab that hangs does not give its own. */
const titleOf = (page: Page): Promise<string> => within(page.title(), TITLE_MS, '');

/**
 * How many elements a page has, without those of frames whose document has not come. Rejects when the page, or a frame of a page that
 * answers, does not say: a snapshot would wait for that frame until its own time is over.
 */
async function elementsOf(page: Page, known?: number): Promise<number> {
  // By the script that the snapshot needs anyway: what a page's own world evaluates takes one more, in each new document.
  const count = (frame: Frame) => frame.locator('*').count();
  const main = page.mainFrame();
  const own = known ?? (await inTime(count(main), SNAPSHOT_MS));
  // Documents that change meanwhile are counted next time.
  const others = page.frames().filter(frame => frame !== main && !isWithoutDocument(playwrightFrame(frame)));
  const counts = await Promise.all(
    others.map(frame =>
      inTime(
        count(frame).catch(() => 0),
        FRAME_MS,
      ),
    ),
  );
  return counts.reduce((sum, each) => sum + each, own);
}
const FRAME_MS = 1_000;

async function inTime<T>(work: Promise<T>, ms: number): Promise<T> {
  const late = Symbol('late');
  const outcome = await Promise.race([work, delay(ms, late, { ref: false })]);
  if (outcome === late) throw new Error(`The page, or a frame of it, did not answer in ${ms} ms.`);
  return outcome as T; // not the symbol
}

/** The element, or the lines of a group that has none itself. */
function partOf(outline: readonly Outline[], ref: string): readonly Outline[] {
  const grouped = outline.filter(({ groups = [] }) => groups.includes(ref));
  if (grouped.length > 0) return grouped;
  for (const each of outline) {
    const found = each.ref === ref ? [each] : partOf(each.children, ref);
    if (found.length > 0) return found;
  }
  return [];
}

const withoutHash = (url: string): string => url.split('#', 1)[0] ?? '';
