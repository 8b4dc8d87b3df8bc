import { setTimeout as delay } from 'node:timers/promises';
import type { Frame, JSHandle, Page } from 'playwright-core';
import { siteOf } from './site.ts';

/**
 * `tainted`: a password or a code went into the document, or into another one of its site while both lived.
 * `scripted`: code of the agent ran in the document, or in another one of its site while both lived.
 */
export type Mark = 'tainted' | 'scripted';

/** The document that a frame shows, as long as it is marked. */
interface Marked {
  /** The site whose scripts reach it; undefined: none do. */
  readonly site: string | undefined;
  readonly hasAddress: boolean;
  readonly marks: Set<Mark>;
  /**
   * An object that lives as long as the document; undefined: it was gone before it could be held. No node: to name one, Playwright
   * runs a script of 300 kB in the page, which takes 30 ms.
   */
  readonly document: Promise<JSHandle | undefined>;
}

const MARKS: readonly Mark[] = ['tainted', 'scripted'];
const ANSWER_MS = 1_000;

/** Marks of the documents of a lease. A mark ends with its document, and a new document gets those of its site beside it. */
export class DocumentMarks {
  readonly #pages: () => readonly Page[];
  readonly #marked = new Map<Frame, Marked>();
  /** Sites of which a document was ever marked. */
  readonly #ever: Readonly<Record<Mark, Set<string>>> = { tainted: new Set(), scripted: new Set() };
  /** The site from which a tab that opened without an address has its origin. */
  readonly #borrowed = new WeakMap<Page, string>();

  constructor(pages: () => readonly Page[]) {
    this.#pages = pages;
  }

  add(frame: Frame, mark: Mark): void {
    const before = this.#marked.get(frame);
    if (before === undefined) this.#put(frame, new Set([mark]));
    else {
      before.marks.add(mark);
      if (before.site !== undefined) this.#ever[mark].add(before.site);
    }
  }

  /** Marks the frame's document and every other that scripts of its site reach, in every tab. */
  addToSite(frame: Frame, mark: Mark): void {
    const site = this.#reachedFrom(frame);
    this.add(frame, mark);
    if (site === undefined) return;
    for (const each of this.#pages().flatMap(page => page.frames()))
      if (this.#reachedFrom(each) === site) this.add(each, mark);
  }

  navigated(frame: Frame, isNewDocument: boolean): void {
    const before = this.#marked.get(frame);
    const site = this.#reachedFrom(frame);
    const marks = this.#inherited(frame);
    if (frame.url().startsWith('blob:')) for (const mark of this.#everOn(site)) marks.add(mark);
    // The window of a tab's first, blank document stays for the next one of its site, with all that was put into it.
    const isSameWindow = !isNewDocument || (before?.hasAddress === false && before.site === site);
    if (before !== undefined && isSameWindow) for (const mark of before.marks) marks.add(mark);
    this.#marked.delete(frame);
    this.#put(frame, marks, isNewDocument ? undefined : before?.document);
  }

  /** A page opened this tab: a script may have put code into it, and be gone by now. `site`: its document's origin. */
  opened(page: Page, site: string | undefined): void {
    if (site !== undefined) this.#borrowed.set(page, site);
    for (const frame of page.frames())
      for (const mark of [...this.#inherited(frame), ...this.#everOn(this.#reachedFrom(frame))]) this.add(frame, mark);
  }

  detached(frame: Frame): void {
    this.#marked.delete(frame);
  }

  closed(page: Page): void {
    for (const frame of this.#marked.keys()) if (frame.page() === page) this.#marked.delete(frame);
  }

  /** Never rejects. */
  async has(frame: Frame, mark: Mark): Promise<boolean> {
    const found = this.#marked.get(frame);
    return found?.marks.has(mark) === true && (await isAlive(found));
  }

  /** Whether a document of the tab is marked, gone or not. */
  isMarked(page: Page | undefined, mark: Mark): boolean {
    return [...this.#marked].some(([frame, { marks }]) => frame.page() === page && marks.has(mark));
  }

  #reachedFrom(frame: Frame): string | undefined {
    const own = siteOf(frame.url());
    if (own !== undefined || !/^about:/.test(frame.url())) return own;
    const parent = frame.parentFrame();
    return parent === null ? this.#borrowed.get(frame.page()) : this.#reachedFrom(parent);
  }

  #put(frame: Frame, marks: Set<Mark>, known?: Marked['document']): void {
    if (marks.size === 0) return;
    const site = this.#reachedFrom(frame);
    if (site !== undefined) for (const mark of marks) this.#ever[mark].add(site);
    const document = known ?? frame.evaluateHandle('({})').catch(() => undefined);
    this.#marked.set(frame, { site, hasAddress: siteOf(frame.url()) !== undefined, marks, document });
  }

  /** Marks that a new document gets from those of its site that live beside it. */
  #inherited(frame: Frame): Set<Mark> {
    const site = this.#reachedFrom(frame);
    const beside = [...this.#marked].filter(
      ([other, each]) => site !== undefined && other !== frame && each.site === site,
    );
    return new Set(beside.flatMap(([, { marks }]) => [...marks]));
  }

  /** Marks of a document that came into being by a script which may be gone by now. */
  #everOn(site: string | undefined): Mark[] {
    return site === undefined ? [] : MARKS.filter(mark => this.#ever[mark].has(site));
  }
}

/** A handle is of no use once its document is gone; a document that does not answer is there. */
function isAlive({ document }: Marked): Promise<boolean> {
  const answered = document.then(held => held?.evaluate('true')).then(answer => answer === true);
  return Promise.race([answered.catch(() => false), delay(ANSWER_MS, true, { ref: false })]);
}
