import type { ElementHandle, Frame, Page } from 'playwright-core';
import { within } from '../../time/within.ts';
import type { Focus } from './keys.ts';

/** A credential's value in a field. */
export interface Filled {
  readonly name: string;
  /** A password or a code: the agent may replace it, not edit it. */
  readonly secret: boolean;
}

/** The fields into which a credential was filled, as long as their documents live. Their values are never shown. */
export interface FilledFields {
  add(field: ElementHandle, filled: Filled): void;
  /** The agent puts a text of its own into the element: from now on that is shown, unless a secret was there. */
  replaced(element: ElementHandle, text: string): Promise<void>;
  isEmpty(): boolean;
  /** Whether a secret was filled into the element, or is in it by other ways. */
  holds(element: ElementHandle): Promise<boolean>;
  /** The element that gets a key pressed now; where that cannot be known, it goes into a secret. */
  focusOf(page: Page): Promise<Focus>;
  /** The present value of an element. Rejects when its document is gone. */
  textOf(element: ElementHandle): Promise<string>;
  /** Their present values, with the name of the credential. */
  texts(): Promise<ReadonlyMap<string, string>>;
}

const ANSWER_MS = 1_000;
/** A page that does not answer in this time counts with its last answer: behind a dialog nothing changes. */
const TEXT_MS = 300;

/** Playwright's own type of an element needs the types of a page. */
const asPageElement = (element: ElementHandle): ElementHandle<PageElement> => element as ElementHandle<PageElement>;

export interface FilledFieldsOptions {
  /** Whether a text holds a password or a code, or more than half of one. */
  readonly holdsSecret: (text: string) => Promise<boolean>;
  /** Called with what a page made of a secret in its field: it is part of it, wherever it is put. */
  readonly onEdited: (name: string, text: string) => void;
}

/** A shorter one is in any text. */
const EDITED_LETTERS_MIN = 4;
const EDITED_MAX = 50;
/** A longer one is searched for by its beginning: each spelling of it takes time and memory. */
const EDITED_CHARACTERS_MAX = 4_096;

export function filledFields({ holdsSecret, onEdited }: FilledFieldsOptions): FilledFields {
  const fields = new Map<ElementHandle, Filled>();
  /** Text that the agent put there itself, and that it was shown. */
  const known = new Set<string>();
  let edited = 0;
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
    (await holdsSecret(await asPageElement(element).evaluate(textIn))) || (await entryOf(element))?.[1].secret === true;

  async function tell(name: string, given: string): Promise<void> {
    const text = given.slice(0, EDITED_CHARACTERS_MAX);
    const letters = text.match(/[\p{L}\p{N}]/gu) ?? [];
    if (known.has(text) || letters.length < EDITED_LETTERS_MIN || edited >= EDITED_MAX || (await holdsSecret(text)))
      return;
    known.add(text);
    edited += 1;
    onEdited(name, text);
  }

  async function focusIn(frame: Frame): Promise<Focus> {
    const element = (await frame.evaluateHandle(FOCUSED)).asElement();
    if (element === null) return 'other';
    const inner = await element.contentFrame();
    if (inner !== null) return focusIn(inner);
    const kind = await asPageElement(element).evaluate(kindOf);
    if (kind === 'other') return 'other';
    if (kind === 'unknown' || (await holds(element))) return 'secret';
    return kind === 'list' ? 'list' : 'other';
  }

  return {
    add: (field, filled) => void fields.set(field, filled),
    async replaced(element, text) {
      known.add(text);
      const [field, filled] = (await entryOf(element)) ?? [];
      if (field !== undefined && filled?.secret === false) fields.delete(field);
    },
    isEmpty: () => fields.size === 0,
    holds,
    focusOf: page => within(focusIn(page.mainFrame()), ANSWER_MS, 'secret'),
    textOf: element => asPageElement(element).evaluate(textIn),
    async texts() {
      const texts = new Map<string, string>();
      await Promise.all(
        [...fields].map(async ([field, { name, secret }]) => {
          const text = asPageElement(field)
            .evaluate(textIn)
            .catch(() => void fields.delete(field));
          const found = await within(text, TEXT_MS, last.get(field));
          if (found === undefined) return;
          last.set(field, found);
          if (found === '') return;
          texts.set(found, name);
          if (secret) await tell(name, found);
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

function kindOf({
  localName,
  isContentEditable = false,
  shadowRoot,
}: PageElement): 'field' | 'list' | 'other' | 'unknown' {
  if (localName === 'select') return 'list';
  if (isContentEditable || ['input', 'textarea'].includes(localName)) return 'field';
  // A closed shadow root may have the focus anywhere within.
  return localName.includes('-') && shadowRoot === null ? 'unknown' : 'other';
}
