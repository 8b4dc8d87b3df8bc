import { setTimeout as delay } from 'node:timers/promises';
import type { ElementHandle, JSHandle } from 'playwright-core';
import * as z from 'zod';
import type { Refusal } from '../../contract/tool-failure.ts';
import { positionOf } from './choice.ts';
import type { FieldOption } from './field.ts';

const CHOICE = { timeout: 2_000 };
/** A list that is opened shows its options in this time. */
const OPENS_MS = 1_500;
const LOOKS_EVERY_MS = 50;

/**
 * Chooses in a list that the page draws itself, as a person does: opens it, then clicks the option. Resolves with a refusal where none of the
 * options that are shown is meant.
 */
export async function chooseDrawn(element: ElementHandle, wanted: string): Promise<Refusal | undefined> {
  let list = await shownOptions(element);
  if (list.options.length === 0 || list.isFolded) {
    // One that is folded may show what is chosen, as an option too.
    const before = list.isFolded ? list.elements : undefined;
    await element.click(CHOICE);
    const endMs = performance.now() + OPENS_MS;
    do {
      await delay(LOOKS_EVERY_MS);
      list = await shownOptions(element, before);
      // It shows the options that it showed before.
      if (before !== undefined && list.options.length === 0 && !list.isFolded) list = await shownOptions(element);
    } while (list.options.length === 0 && performance.now() < endMs);
  }
  if (list.options.length === 0) return NO_OPTIONS;
  const position = positionOf(wanted, list.options);
  if (typeof position === 'object') return position;
  const option = (await list.elements.getProperty(String(position))).asElement();
  if (option === null) return NO_OPTIONS;
  await option.click(CHOICE);
  return undefined;
}

const NO_OPTIONS: Refusal = {
  code: 'option_not_found',
  why: 'The page draws this list itself, and it showed no options when it was clicked.',
  instead: 'Open it with browser_click, then click the option.',
};

const optionsSchema = z.array(z.object({ text: z.string(), value: z.string(), isDisabled: z.boolean() }));

interface ShownList {
  readonly elements: JSHandle<object[]>;
  readonly options: readonly FieldOption[];
  /** The page says so. */
  readonly isFolded: boolean;
}

/** `before`: elements that do not count. */
async function shownOptions(element: ElementHandle, before?: JSHandle<object[]>): Promise<ShownList> {
  const elements = await element.evaluateHandle(findOptions, before);
  const options = optionsSchema.parse(await elements.evaluate(readOptions));
  return { elements, options, isFolded: (await element.getAttribute('aria-expanded')) === 'false' };
}

/** As much of the elements of a page as is read here. */
interface Part {
  readonly innerText: string;
  readonly dataset: { readonly value?: string };
  matches(selector: string): boolean;
  getAttribute(name: string): string | null;
  querySelectorAll(selector: string): ArrayLike<Part>;
  checkVisibility(): boolean;
  getRootNode(): {
    /** A shadow root has one. */
    readonly host?: Part;
    getElementById(id: string): Part | null;
    querySelectorAll(selector: string): ArrayLike<Part>;
  };
}

/** Runs in the page: the options that are shown, in the list that the element is or names, else in any list that is open. */
function findOptions(element: object, before: readonly object[] = []): object[] {
  const list = element as Part; // an element is one
  const root = list.getRootNode();
  const ids = `${list.getAttribute('aria-controls') ?? ''} ${list.getAttribute('aria-owns') ?? ''}`.split(/\s+/);
  const named = ids.flatMap(id => (id === '' ? [] : (root.getElementById(id) ?? [])));
  const shown = (options: ArrayLike<Part>) =>
    Array.from(options).filter(option => option.checkVisibility() && !before.includes(option));
  // Options that stand in an element's own content are shown in a slot of its list.
  const within = [list, ...named, ...(root.host ? [root.host] : [])].flatMap(each =>
    shown(each.querySelectorAll('[role=option]')),
  );
  return within.length > 0 ? within : shown(root.querySelectorAll('[role=listbox] [role=option]'));
}

/** Runs in the page. */
function readOptions(elements: object): unknown {
  const options = elements as Part[]; // of `findOptions`
  return options.map(option => ({
    text: (option.innerText || option.getAttribute('aria-label') || '').replace(/\s+/g, ' ').trim(),
    value: option.dataset.value ?? '',
    isDisabled: option.matches('[aria-disabled=true]'),
  }));
}
