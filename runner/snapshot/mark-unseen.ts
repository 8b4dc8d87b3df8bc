import type { CDPSession, Page } from 'playwright-core';
import { within } from '../../time/within.ts';
import { sessionOf } from '../browser/page-session.ts';
import { playwrightFrame, worldOf } from '../browser/playwright-frame.ts';

/** The symbol by which Playwright's world of a document has what no script there can see. */
export const SIGHT_KEY = 'omicron-browser.sight';

/** They can be acted on whether or not a script listens, or their listeners say nothing of them. */
const KNOWN = new Set([
  ...['#document', 'HTML', 'BODY', 'BUTTON', 'INPUT', 'SELECT', 'TEXTAREA', 'OPTION', 'LABEL', 'SUMMARY'],
  ...['IFRAME', 'OBJECT', 'EMBED', 'MAIN', 'FORM'],
]);
/** A page with more has lists of them, which are shown in part. */
const MARKED_MAX = 500;

/** Runs in Playwright's world: keeps the elements that listen, and the hosts of closed roots, which `shadowRoot` then gives there. */
const MARK = `function (key, count, ...nodes) {
  const name = Symbol.for(key);
  if (!Object.hasOwn(globalThis, name)) {
    const roots = new WeakMap();
    const { get } = Object.getOwnPropertyDescriptor(Element.prototype, 'shadowRoot');
    Object.defineProperty(Element.prototype, 'shadowRoot', {
      configurable: true,
      get() { return get.call(this) ?? roots.get(this) ?? null; },
    });
    Object.defineProperty(globalThis, name, { value: { listens: new WeakSet(), roots } });
  }
  const { listens, roots } = globalThis[name];
  for (const element of nodes.slice(0, count)) listens.add(element);
  for (const node of nodes.slice(count)) {
    const root = node.getRootNode();
    if (root instanceof ShadowRoot) roots.set(root.host, root);
  }
}`;

interface Unseen {
  readonly listening: number[];
  readonly closedRoots: number[];
  readonly hasPseudo: boolean;
}

/** Findings of a look at a page. */
export interface Sighting {
  /** Whether it marked anything: what was read before is to be read again. */
  readonly isNew: boolean;
  /** Whether styles may put texts before or after elements: where none do, they are not looked for. */
  readonly hasPseudo: boolean;
}

interface Marked {
  /** The nodes that were marked before, by the world in which they were. */
  readonly worlds: Map<number, Set<number>>;
  /** Findings of the last look; `first`: of the last one that was the first at its document. */
  last?: Sighting;
  first?: Sighting;
}

const marked = new WeakMap<Page, Marked>();

/** Another document may get the same numbers. */
function markedOf(page: Page): Marked {
  const known = marked.get(page);
  if (known !== undefined) return known;
  const worlds: Marked['worlds'] = new Map();
  const added: Marked = { worlds };
  marked.set(page, added);
  page.on('framenavigated', () => worlds.clear());
  return added;
}

const MARK_MS = 2_000;
/** For a page that does not answer: fewer elements have refs. */
const UNKNOWN: Sighting = { isNew: false, hasPseudo: true };

/**
 * Reads a page whose unseen elements are marked. Most looks find what the last one did, or what the first one at the document before found:
 * then the page is read while they are looked for, and again if there is something new.
 */
export async function readMarked<T>(page: Page, read: (sighting: Sighting) => Promise<T>): Promise<T> {
  const { worlds, first, last } = markedOf(page);
  const expected = worlds.size === 0 ? first : last;
  const marking = within(markUnseen(page), MARK_MS, UNKNOWN);
  if (expected === undefined || expected.isNew) return read(await marking);
  const [sighting, found] = await Promise.all([marking, read(expected)]);
  const isAsExpected = !sighting.isNew && (expected.hasPseudo || !sighting.hasPseudo);
  return isAsExpected ? found : read(sighting);
}

/**
 * Informs Playwright's world of each document which elements listen for clicks, and which shadow roots are closed. One command names both, and
 * takes 1.4 to 5 ms on small pages, 8 ms at 1,700 elements; documents of another process have neither.
 */
async function markUnseen(page: Page): Promise<Sighting> {
  const session = await sessionOf(page);
  const all = markedOf(page);
  const { worlds } = all;
  const isFirst = worlds.size === 0;
  const unseen = await findUnseen(session);
  const frames = page.frames().map(playwrightFrame);
  const areNew = await Promise.all(
    frames.map(async frame => {
      const found = unseen.get(frame._id);
      const world = worldOf(frame);
      if (found === undefined || world === undefined) return false;
      const known = worlds.get(world) ?? new Set();
      worlds.set(world, known);
      return markIn(session, world, found, known);
    }),
  );
  const hasPseudo = frames.some(({ _id }) => unseen.get(_id)?.hasPseudo !== false);
  all.last = { isNew: areNew.includes(true), hasPseudo };
  if (isFirst) all.first = all.last;
  return all.last;
}

/** Whether there was something to mark. */
async function markIn(session: CDPSession, world: number, found: Unseen, known: Set<number>): Promise<boolean> {
  const isNew = (node: number) => !known.has(node);
  const listening = found.listening.filter(isNew).slice(0, MARKED_MAX);
  const roots = found.closedRoots.filter(isNew).slice(0, MARKED_MAX);
  if (listening.length + roots.length === 0) return false;
  const objectOf = async (backendNodeId: number) => {
    const resolved = session.send('DOM.resolveNode', { backendNodeId, executionContextId: world });
    return (await resolved.catch(() => undefined))?.object.objectId;
  };
  const objects = await Promise.all([...listening, ...roots].map(objectOf));
  const there = objects.flatMap(objectId => (objectId === undefined ? [] : [{ objectId }]));
  const count = objects.slice(0, listening.length).filter(each => each !== undefined).length;
  await session.send('Runtime.callFunctionOn', {
    executionContextId: world,
    functionDeclaration: MARK,
    arguments: [{ value: SIGHT_KEY }, { value: count }, ...there],
    returnByValue: true,
  });
  for (const node of [...listening, ...roots]) known.add(node);
  await Promise.all(there.map(({ objectId }) => session.send('Runtime.releaseObject', { objectId }).catch(() => {})));
  return true;
}

/** By frame, as the layout has them. */
async function findUnseen(session: CDPSession): Promise<Map<string, Unseen>> {
  const { documents, strings } = await session.send('DOMSnapshot.captureSnapshot', { computedStyles: [] });
  const found = new Map<string, Unseen>();
  for (const { frameId, nodes } of documents) {
    const ids = nodes.backendNodeId ?? [];
    const idsAt = (indexes: readonly number[]) => indexes.flatMap(at => ids[at] ?? []);
    const nameAt = (at: number) => strings[nodes.nodeName?.[at] ?? -1] ?? '';
    const hasHref = (at: number) => nodes.attributes?.[at]?.some(name => strings[name] === 'href') === true;
    const clickable = (nodes.isClickable?.index ?? []).filter(
      at => !KNOWN.has(nameAt(at)) && !(nameAt(at) === 'A' && hasHref(at)),
    );
    const { index: shadow = [], value: types = [] } = nodes.shadowRootType ?? {};
    const inClosed = new Set(shadow.filter((_at, n) => strings[types[n] ?? -1] === 'closed'));
    // The roots themselves are not listed: the nodes right below their hosts lead to them.
    const isTop = (at: number) => {
      const parent = nodes.parentIndex?.[at] ?? -1;
      return !inClosed.has(parent) || nameAt(parent).includes('-');
    };
    const hasPseudo = (nodes.pseudoType?.index.length ?? 0) > 0;
    const closed = [...inClosed].filter(isTop);
    found.set(strings[frameId] ?? '', { listening: idsAt(clickable), closedRoots: idsAt(closed), hasPseudo });
  }
  return found;
}
