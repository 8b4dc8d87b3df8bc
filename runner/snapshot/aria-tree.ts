import { setTimeout as delay } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import * as z from 'zod';
import { pageScript } from '../browser/page-script.ts';
import { isWithoutDocument, type PlaywrightFrame, playwrightFrame } from '../browser/playwright-frame.ts';
import { readMarked, SIGHT_KEY, type Sighting } from './mark-unseen.ts';

/** An element of a page as a snapshot shows it; a string is a text between elements. */
export interface AriaNode {
  readonly role: string;
  readonly name?: string;
  /** A word from its title, picture or class, where it has no name. */
  readonly guess?: string;
  /** Its text, or what a field holds. */
  readonly text?: string;
  /** Whether lines and spaces of the text count. */
  readonly exact?: boolean;
  /** Lines of preformatted text. */
  readonly lines?: readonly string[];
  readonly ref?: string;
  /** Whether an agent can act on it. */
  readonly acts?: boolean;
  readonly active?: boolean;
  readonly url?: string;
  readonly placeholder?: string;
  readonly checked?: boolean | 'mixed';
  readonly current?: boolean;
  readonly disabled?: boolean;
  readonly expanded?: boolean;
  readonly invalid?: boolean | string;
  readonly level?: number;
  readonly max?: string;
  readonly min?: string;
  readonly pressed?: boolean | 'mixed';
  readonly readonly?: boolean;
  readonly required?: boolean;
  readonly selected?: boolean;
  readonly sort?: string;
  readonly children?: readonly (AriaNode | string)[];
}

/** Roles whose refs agents need; any other element keeps its ref where something else says that it may be acted on. */
export const CONTROLS: readonly string[] = [
  ...['button', 'link', 'textbox', 'searchbox', 'spinbutton', 'slider', 'combobox', 'listbox', 'option', 'checkbox'],
  ...['radio', 'switch', 'tab', 'treeitem', 'menuitem', 'menuitemcheckbox', 'menuitemradio', 'iframe'],
];
/** Roles that have a value between two bounds. */
const RANGES = ['slider', 'progressbar', 'meter', 'scrollbar', 'spinbutton', 'separator'];

const script = (name: string) => pageScript(new URL(`./${name}.page.js`, import.meta.url));
/** Playwright gives the script what it found, and the argument. */
const SIGHT = `(found, given) => {
  const texts = (${script('texts')})();
  try {
    return (${script('sight')})(found, given, { ...texts, ...(${script('guess-name')})(texts.normal) });
  } catch {
    return (${script('plain-tree')})(found);
  }
}`;
const SIGHT_OPTIONS = { key: SIGHT_KEY, attributes: { controls: CONTROLS, ranges: RANGES } };
type Styles = Pick<Sighting, 'hasPseudo'>;
const ANY_STYLES: Styles = { hasPseudo: true };

/** As Playwright looks for them; a picture has neither. */
const ROOTS = 'body, frameset';
const OTHER_ROOT = ':root:not(html)';
const AGAIN_MS = 300;
/** A document that has no element by then is an empty one: its body has not come, or never will. */
const EMPTY_MS = 900;
/** For the document of a frame that has none yet. */
const DOCUMENT_MS = 300;
const NOT_THERE = 'this frame has not loaded';

/** The answer of a document: of tens of thousands of elements, a schema would take longer than the page. */
const answered = z.object({
  json: z.custom<AriaNode[]>(Array.isArray),
  iframeRefs: z.array(z.string()),
  closed: z.int(),
});

/** A page's elements, with refs that hold until the next snapshot. */
export interface PageTree {
  readonly tree: readonly AriaNode[];
  /** Whether parts of it change without a trace for observers. */
  readonly hasClosedRoots: boolean;
}

export interface TreeOptions {
  /** A selector: only the first element of it. */
  readonly part?: string;
  /** Whether listeners and closed shadow roots are left out: of 11,000 elements they take a second. */
  readonly isLarge?: boolean;
}

/** Reads the page. Rejects when it does not answer in time. */
export async function ariaTree(
  page: Page,
  timeout: number,
  signal: AbortSignal,
  options: TreeOptions = {},
): Promise<PageTree> {
  const done = new AbortController();
  const late = delay(timeout, undefined, { ref: false, signal: AbortSignal.any([signal, done.signal]) }).then(() => {
    throw new Error(`The snapshot of the page: Timeout ${timeout}ms exceeded.`);
  });
  try {
    return await Promise.race([readPage(page, done.signal, options), late]);
  } finally {
    done.abort();
    late.catch(() => undefined);
  }
}

async function readPage(
  page: Page,
  done: AbortSignal,
  { part = ROOTS, isLarge = false }: TreeOptions,
): Promise<PageTree> {
  const main = playwrightFrame(page.mainFrame());
  const read = async (styles: Styles) =>
    (await readIfThere(main, part, styles)) ?? (await readIfThere(main, OTHER_ROOT, styles));
  for (let waitedMs = 0; !done.aborted; waitedMs += AGAIN_MS) {
    const found = isLarge ? await read(ANY_STYLES) : await readMarked(page, read);
    if (found !== undefined) return found;
    if (waitedMs >= EMPTY_MS && part === ROOTS && (await isEmpty(main))) return EMPTY;
    await delay(AGAIN_MS, undefined, { ref: false });
  }
  throw new Error('The page is no longer read.');
}

async function readDocument(frame: PlaywrightFrame, selector: string, styles: Styles): Promise<PageTree | undefined> {
  const answer = await frame.selectors.callOnSelector({ selector, strict: false }, SIGHT, {
    ...SIGHT_OPTIONS,
    ...styles,
  });
  if (answer == null) return undefined;
  const { json, iframeRefs, closed } = answered.parse(JSON.parse(z.string().parse(answer.result)));
  const lacksDocument = answer.frame.childFrames().some(isWithoutDocument);
  const inner = await Promise.all(
    iframeRefs.map(async ref =>
      lacksDocument && (await hasNoDocument(answer.frame, ref))
        ? WITHOUT_DOCUMENT
        : readFrame(answer.frame, ref, styles),
    ),
  );
  const trees = new Map(iframeRefs.map((ref, at) => [ref, inner[at]]));
  return {
    tree: json.map(node => withFrames(node, trees)),
    hasClosedRoots: closed > 0 || inner.some(each => each?.hasClosedRoots === true),
  };
}

const readIfThere = (frame: PlaywrightFrame, selector: string, styles: Styles): Promise<PageTree | undefined> =>
  readDocument(frame, selector, styles).catch(() => undefined);

/** Elements may come at any time. */
const EMPTY: PageTree = { tree: [], hasClosedRoots: true };

/** Whether the document answers, and has neither a body nor another root that is shown. */
async function isEmpty(frame: PlaywrightFrame): Promise<boolean> {
  const answer = await frame.selectors
    .callOnSelector({ selector: `${ROOTS}, ${OTHER_ROOT}`, strict: false }, '() => true', undefined)
    .catch(() => undefined);
  return answer === null;
}

const WITHOUT_DOCUMENT: PageTree = { tree: [{ role: 'generic', text: NOT_THERE }], hasClosedRoots: false };

/** Whether the frame of the element has none in a while: all that is asked of it would wait. */
async function hasNoDocument(frame: PlaywrightFrame, ref: string): Promise<boolean> {
  const element = await frame.selectors.query({ selector: `aria-ref=${ref}`, strict: false }).catch(() => undefined);
  const inner = await element?._contentFrame();
  element?.dispose();
  if (inner == null) return false;
  const endMs = performance.now() + DOCUMENT_MS;
  while (isWithoutDocument(inner) && performance.now() < endMs)
    await delay(DOCUMENT_MS / 10, undefined, { ref: false });
  return isWithoutDocument(inner);
}

/** The document in a frame; undefined: it does not answer. */
const readFrame = (frame: PlaywrightFrame, ref: string, styles: Styles): Promise<PageTree | undefined> =>
  readDocument(frame, `aria-ref=${ref} >> internal:control=enter-frame >> ${ROOTS}`, styles).catch(() => undefined);

function withFrames(node: AriaNode, trees: ReadonlyMap<string, PageTree | undefined>): AriaNode {
  if (trees.size === 0) return node;
  const tree = node.role === 'iframe' && node.ref !== undefined ? trees.get(node.ref)?.tree : undefined;
  if (tree !== undefined) return { ...node, children: tree };
  if (node.children === undefined) return node;
  return { ...node, children: node.children.map(each => (typeof each === 'string' ? each : withFrames(each, trees))) };
}
