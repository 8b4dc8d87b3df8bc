import { setTimeout as delay } from 'node:timers/promises';
import type { BrowserContext, Frame, Page } from 'playwright-core';
import { within } from '../../time/within.ts';
import { type DrawnForm, formOfEdited, formsOf, type SecretKind } from './held.ts';
import { PagePictures, type PictureCheck, type Searched } from './page-pictures.ts';
import { siteOf } from './site.ts';

/** Why there is no picture: a clause for the agent. */
export interface Withheld {
  readonly withheld: string;
}

/**
 * Contents of a lease's pictures: never a value that was filled in, nor more than half of it. Costs nothing until the
 * first value is filled in.
 */
export interface Pictures {
  /**
   * Call it before the value goes into the page: from then on what holds it is hidden, and what else its field comes to
   * hold, as `text` reads it. Rejects if it cannot be.
   */
  filled(frame: Frame, value: string, kind: SecretKind, text: () => Promise<string>): Promise<void>;
  /** Takes a picture of a page that is known to show no value. Rejects only as `shoot` does. */
  take<T>(page: Page, shoot: () => Promise<T>): Promise<T | Withheld>;
  /** Whether a value was filled in: from then on pictures are to be had from `take`, or after two looks at them. */
  isGuarding(): boolean;
  /** The present picture of the tab, hidden where it must be. Never rejects: a tab that does not answer may show anything. */
  look(page: Page): Promise<PictureCheck>;
}

export const isWithheld = (picture: unknown): picture is Withheld =>
  typeof picture === 'object' && picture !== null && 'withheld' in picture;

/** A field into which a password or a code was filled. */
interface FilledField {
  readonly site: string;
  readonly text: () => Promise<string>;
  /** Its values, as far as they were seen. */
  readonly texts: Set<string>;
}

const LOOK_MS = 4_000;
/** A field that does not answer in this time is behind a dialog, where nothing changes. */
const FIELD_MS = 300;
/** A page that changes a field without end. */
const TEXTS_MAX = 100;
const PICTURES_MAX = 3;
/** Looks until one finds nothing more to hide. */
const LOOKS_MAX = 8;

/** Guards the pictures of every tab of the context. */
export function guardPictures(context: BrowserContext): Pictures {
  const bySite = new Map<string, DrawnForm[]>();
  const fields = new Set<FilledField>();
  const tabs = new WeakMap<Page, PagePictures>();
  /** One after the other in each tab: what one finds the next must not miss. */
  const looks = new WeakMap<Page, Promise<unknown>>();

  const tabOf = (page: Page): PagePictures => {
    const tab = tabs.get(page) ?? new PagePictures(context, page, searched);
    tabs.set(page, tab);
    return tab;
  };

  const searched = (): Searched => ({ forms: [...bySite.values()].flat(), bySite, heldSites: heldSites() });

  const heldSites = (): Set<string> =>
    new Set(context.pages().flatMap(page => [...(tabs.get(page)?.heldSites() ?? [])]));

  /** Documents of other tabs that are gone hold nothing any more; what does not answer is there. */
  async function forgetGone(but: Page): Promise<void> {
    const others = context.pages().filter(page => page !== but && tabs.get(page)?.isStrict() === true);
    await Promise.all(others.map(page => boundWork(tabOf(page).forgetGone()).catch(() => undefined)));
  }

  function inOrder<T>(page: Page, work: () => Promise<T>): Promise<T> {
    const mine = (looks.get(page) ?? Promise.resolve()).then(() => boundWork(work()));
    looks.set(
      page,
      mine.catch(() => undefined),
    );
    return mine;
  }

  function addForms(site: string, forms: readonly DrawnForm[]): void {
    const before = bySite.get(site) ?? [];
    const isNew = (form: DrawnForm) =>
      !before.some(({ text, size, bare }) => text === form.text && size === form.size && bare === form.bare);
    bySite.set(site, [...before, ...forms.filter(isNew)]);
  }

  /** A page may change what a field holds, and show that elsewhere. */
  async function readFields(): Promise<void> {
    await Promise.all(
      [...fields].map(async field => {
        const text = field.text().catch(() => void fields.delete(field));
        const form = formOfEdited((await within(text, FIELD_MS)) ?? '');
        if (form === undefined || field.texts.size >= TEXTS_MAX || field.texts.has(form.text)) return;
        field.texts.add(form.text);
        addForms(field.site, [form]);
      }),
    );
  }

  const look = (page: Page): Promise<PictureCheck> =>
    inOrder(page, async () => {
      await readFields();
      await forgetGone(page);
      return tabOf(page).look();
    }).catch(() => UNKNOWN);

  return {
    isGuarding: () => bySite.size > 0,
    look,
    async filled(frame, value, kind, text) {
      const page = frame.page();
      const site = siteOf(frame.url());
      if (site === undefined) throw new Error('a document without a site is not filled');
      addForms(site, formsOf(value, kind));
      if (kind !== 'username') fields.add({ site, text, texts: new Set() });
      await inOrder(page, () => tabOf(page).aboutToFill(site));
      const others = context.pages().filter(other => other !== page && isOf(other, site));
      // If it fails, everything that such a tab draws counts as new.
      await Promise.all(
        others.map(other => inOrder(other, () => tabOf(other).aboutToFill(site)).catch(() => undefined)),
      );
    },
    async take(page, shoot) {
      if (bySite.size === 0) return shoot();
      let shown: string | undefined;
      let before = await look(page);
      for (let looked = 1, taken = 0; looked < LOOKS_MAX && taken < PICTURES_MAX; looked += 1) {
        if (before === UNKNOWN) break;
        if (before.shown !== undefined) {
          shown = before.shown;
          before = await look(page);
          continue;
        }
        const picture = await shoot();
        taken += 1;
        const after = await look(page);
        const unseen = tabOf(page).isStrict() && after.unseen !== before.unseen;
        if (after.shown === undefined && !unseen && after.documents === before.documents) return picture;
        shown = after.shown ?? 'the page changes in ways that cannot be followed';
        before = after;
      }
      if (before === UNKNOWN) shown = UNKNOWN.shown;
      return { withheld: shown ?? 'the page changes while the picture is taken' };
    },
  };
}

const isOf = (page: Page, site: string): boolean => page.frames().some(frame => siteOf(frame.url()) === site);

const UNKNOWN: PictureCheck = { shown: 'the page does not answer', settled: false, unseen: -1, documents: '' };

async function boundWork<T>(work: Promise<T>): Promise<T> {
  const late = new AbortController();
  work.catch(() => undefined);
  try {
    return await Promise.race([
      work,
      delay(LOOK_MS, undefined, { signal: late.signal }).then(() => {
        throw new Error('the page does not answer');
      }),
    ]);
  } finally {
    late.abort();
  }
}
