import type { BrowserContext, ElementHandle, Frame, Page } from 'playwright-core';
import * as z from 'zod';

/**
 * Contents of pages before a secret went into them, and those that a tainted one has shown since. Questions about these reveal nothing
 * of the secret: what came later may have been made of it.
 */
export interface BeforeFill {
  /** Call it right before a secret goes into a page. Learns every tab that holds none yet. Never rejects. */
  learn(): Promise<void>;
  /** A result names elements of a tainted tab by these selectors. */
  shown(selectors: readonly string[]): void;
  /** Whether a result named an element of a tainted tab by this very selector. */
  wasShown(selector: string): boolean;
  /** Whether a tag, an id, a class or another name was there. */
  hasName(name: string): boolean;
  /** Whether a list, or the one that a label is of, offers what it offered. */
  isSameList(element: ElementHandle): Promise<boolean>;
}

interface List {
  readonly element: ElementHandle;
  readonly offers: string;
}

const LEARN_MS = 2_000;
const LISTS_MAX = 100;
const SHOWN_MAX = 5_000;

export function beforeFill(context: BrowserContext, isTainted: (page: Page) => Promise<boolean>): BeforeFill {
  const names = new Set<string>();
  const selectors = new Set<string>();
  const lists: List[] = [];

  async function learnFrame(frame: Frame): Promise<void> {
    for (const name of z.array(z.string()).parse(await frame.evaluate(NAMES))) names.add(name);
    for (const element of await frame.$$('select'))
      if (lists.length < LISTS_MAX) lists.push({ element, offers: await element.evaluate(listOptions) });
  }

  async function learnPage(page: Page): Promise<void> {
    if (await isTainted(page)) return;
    await Promise.all(page.frames().map(frame => learnFrame(frame).catch(() => undefined)));
  }

  return {
    async learn() {
      const { promise: late, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, LEARN_MS);
      await Promise.race([Promise.all(context.pages().map(learnPage)), late]).finally(() => clearTimeout(timer));
    },
    shown(given) {
      for (const selector of given) if (selectors.size < SHOWN_MAX) selectors.add(selector);
    },
    wasShown: selector => selectors.has(selector),
    hasName: name => names.has(name),
    async isSameList(element) {
      for (const known of lists)
        if (await known.element.evaluate(isOf, element).catch(() => false))
          return known.offers === (await known.element.evaluate(listOptions));
      return false;
    },
  };
}

/** Runs in the page: what selectors may name, in open shadow roots too. */
const NAMES = `(() => {
  const names = new Set();
  const visit = root => {
    for (const element of root.querySelectorAll('*')) {
      if (element.shadowRoot) visit(element.shadowRoot);
      names.add(element.localName);
      for (const name of element.classList) names.add(name);
      for (const attribute of ['autocomplete', 'data-test', 'data-testid', 'for', 'id', 'name', 'role', 'type'])
        if (element.hasAttribute(attribute)) names.add(element.getAttribute(attribute));
    }
  };
  visit(document);
  return [...names].slice(0, 20000);
})()`;

/** As much of a page's element as is used here; the following run in the page. */
interface PageElement {
  readonly options?: Iterable<{ readonly text: string; readonly value: string }>;
  readonly control?: object | null;
  closest(selector: string): PageElement | null;
}

function listOptions(element: object): string {
  const { options = [] } = element as PageElement; // every element has at least these
  return [...options].map(({ text, value }) => `${text}\n${value}`).join('\n');
}

function isOf(mine: object, element: object): boolean {
  const named = element as PageElement; // as above
  return mine === named || named.closest('label')?.control === mine;
}
