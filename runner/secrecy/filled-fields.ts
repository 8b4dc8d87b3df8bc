import { setTimeout as delay } from 'node:timers/promises';
import type { ElementHandle, Frame, Page } from 'playwright-core';

/** A credential's value in a field. */
export interface Filled {
  readonly name: string;
  /** A password or a code: the agent may replace it, not edit it. */
  readonly secret: boolean;
}

/** The fields into which a credential was filled, as long as their documents live. What they hold is never shown. */
export interface FilledFields {
  add(field: ElementHandle, filled: Filled): void;
  /** The agent puts a text of its own into the element: from now on that is shown, unless a secret was there. */
  replaced(element: ElementHandle): Promise<void>;
  isEmpty(): boolean;
  /** Whether a secret was filled into the element, or is in it by other ways. */
  holds(element: ElementHandle): Promise<boolean>;
  /** Whether a key that is pressed now goes into such an element; where that cannot be known, it does. */
  isFocused(page: Page): Promise<boolean>;
  /** What an element holds now. Rejects when its document is gone. */
  textOf(element: ElementHandle): Promise<string>;
  /** What they hold now, with the name of the credential. */
  texts(): Promise<ReadonlyMap<string, string>>;
}

const ANSWER_MS = 1_000;
/** What a page does not tell in this time is what it told last: behind a dialog nothing changes. */
const TEXT_MS = 300;

/** Playwright's own type of an element needs the types of a page. */
const asPageElement = (element: ElementHandle): ElementHandle<PageElement> => element as ElementHandle<PageElement>;

/** `holdsSecret` tells whether a text holds a password or a code, or more than half of one. */
export function filledFields(holdsSecret: (text: string) => boolean): FilledFields {
  const fields = new Map<ElementHandle, Filled>();
  const last = new WeakMap<ElementHandle, string>();

  /** The entry of an element, of which there may be several handles. */
  async function entryOf(element: ElementHandle): Promise<[ElementHandle, Filled] | undefined> {
    const same = [...fields].map(async entry =>
      // Elements of different documents are never the same, and cannot be compared.
      (await entry[0].evaluate((mine, other) => mine === other, element).catch(() => false)) ? entry : undefined,
    );
    return (await Promise.all(same)).find(entry => entry !== undefined);
  }

  const holds = async (element: ElementHandle): Promise<boolean> =>
    holdsSecret(await asPageElement(element).evaluate(textIn)) || (await entryOf(element))?.[1].secret === true;

  async function focusHolds(frame: Frame): Promise<boolean> {
    const element = (await frame.evaluateHandle(FOCUSED)).asElement();
    if (element === null) return false;
    const inner = await element.contentFrame();
    if (inner !== null) return focusHolds(inner);
    const kind = await asPageElement(element).evaluate(kindOf);
    if (kind === 'other') return false;
    return kind === 'unknown' || holds(element);
  }

  return {
    add: (field, filled) => void fields.set(field, filled),
    async replaced(element) {
      const [field, filled] = (await entryOf(element)) ?? [];
      if (field !== undefined && filled?.secret === false) fields.delete(field);
    },
    isEmpty: () => fields.size === 0,
    holds,
    isFocused: page =>
      Promise.race([focusHolds(page.mainFrame()), delay(ANSWER_MS, true, { ref: false })]).catch(() => true),
    textOf: element => asPageElement(element).evaluate(textIn),
    async texts() {
      const texts = new Map<string, string>();
      await Promise.all(
        [...fields].map(async ([field, { name }]) => {
          const text = asPageElement(field)
            .evaluate(textIn)
            .catch(() => void fields.delete(field));
          const found = await Promise.race([text, delay(TEXT_MS, last.get(field), { ref: false })]);
          if (found === undefined) return;
          last.set(field, found);
          if (found !== '') texts.set(found, name);
        }),
      );
      return texts;
    },
  };
}

/** As much of a page's element as is used here; the following run in the page. */
interface PageElement {
  readonly localName: string;
  readonly value?: string;
  readonly textContent: string | null;
  readonly isContentEditable?: boolean;
  readonly shadowRoot: object | null;
}

const textIn = (element: PageElement): string => String(element.value ?? element.textContent ?? '');

const FOCUSED = `(() => {
  let element = document.designMode === 'on' ? document.body : document.activeElement;
  while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
  return element;
})()`;

function kindOf({ localName, isContentEditable = false, shadowRoot }: PageElement): 'field' | 'other' | 'unknown' {
  if (isContentEditable || ['input', 'textarea', 'select'].includes(localName)) return 'field';
  // A closed shadow root may have the focus anywhere within.
  return localName.includes('-') && shadowRoot === null ? 'unknown' : 'other';
}
