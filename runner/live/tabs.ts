import type { BrowserContext, Page } from 'playwright-core';
import type { LiveTab } from '../../contract/live.ts';
import { within } from '../../time/within.ts';
import type { Captures } from '../capture/captures.ts';
import type { Picture } from '../capture/picture.ts';

/** The tabs of a lease for its viewers, who all see the same one. */
export interface Tabs {
  list(): Promise<LiveTab[]>;
  shown(): Page | undefined;
  idOf(page: Page): number;
  /** Undefined: no tab has this id any more. */
  page(id: number): Page | undefined;
  show(page: Page): void;
  /** Captures the shown tab, or stops it: there are viewers, or there are none. */
  watch(watched: boolean): void;
  close(): void;
}

export interface TabsOptions {
  readonly context: BrowserContext;
  /** Takes secrets out of a text. */
  readonly conceal: (text: string) => Promise<string>;
  readonly captures: Captures;
  readonly onPicture: (picture: Picture, tab: number) => void;
  /** A tab came, went, moved, or is shown now. */
  readonly onChange: () => void;
}

const TITLE_MS = 500;
const TITLE_MAX = 200;
const URL_MAX = 2_048;

/** A tab that is opened is shown, as in any browser; when the shown one closes, the newest is. */
export function liveTabs({ context, captures, conceal, onPicture, onChange }: TabsOptions): Tabs {
  const ids = new Map<Page, number>();
  let count = 0;
  let shown: Page | undefined;
  let watched = false;
  /** Ends the capture that is under way. */
  let unwatch: (() => void) | undefined;

  function add(page: Page): void {
    count += 1;
    ids.set(page, count);
    page.on('framenavigated', frame => {
      if (frame === page.mainFrame()) onChange();
    });
    page.on('domcontentloaded', onChange); // its title is known
    page.once('close', () => remove(page));
    show(page);
  }

  function remove(page: Page): void {
    ids.delete(page);
    if (shown === page) show([...ids.keys()].at(-1));
    else onChange();
  }

  function show(page: Page | undefined): void {
    shown = page;
    restart();
    onChange();
  }

  function restart(): void {
    unwatch?.();
    unwatch = undefined;
    if (!watched || shown === undefined) return;
    const page = shown;
    const tab = ids.get(page) ?? 0;
    let ended = false;
    const see = (picture: Picture) => {
      if (!ended) onPicture(picture, tab);
    };
    const watching = captures.watch(page, see, 'live');
    unwatch = () => {
      ended = true;
      watching.then(
        end => end(),
        () => undefined, // it is closed
      );
    };
    watching.catch(() => undefined);
  }

  const describe = async (page: Page, id: number): Promise<LiveTab> => ({
    id,
    url: (await conceal(page.url())).slice(0, URL_MAX),
    title: (await conceal(await titleOf(page))).slice(0, TITLE_MAX),
    shown: page === shown,
  });

  for (const page of context.pages()) add(page);
  context.on('page', add);
  return {
    list: () => Promise.all([...ids].map(([page, id]) => describe(page, id))),
    shown: () => shown,
    idOf: page => ids.get(page) ?? 0,
    page: id => [...ids].find(([, each]) => each === id)?.[0],
    show(page) {
      if (page !== shown && ids.has(page)) show(page);
    },
    watch(wanted) {
      if (wanted === watched) return;
      watched = wanted;
      restart();
    },
    close() {
      context.off('page', add);
      watched = false;
      restart();
    },
  };
}

/** A page behind a dialog, or one that hangs, does not answer. */
const titleOf = (page: Page): Promise<string> => within(page.title(), TITLE_MS, '');
