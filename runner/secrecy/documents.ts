import { setTimeout as delay } from 'node:timers/promises';
import type { BrowserContext, Frame, JSHandle, Page, Request } from 'playwright-core';
import * as z from 'zod';
import { evaluateAside } from './isolated-world.ts';
import { type Holds, holdsSecret } from './scan.ts';
import { siteOf } from './site.ts';

/**
 * `tainted`: a password or a code went into the document, or into another one of its site while both lived.
 * `scripted`: code of the agent ran in the document, or in another one of its site while both lived.
 */
type Mark = 'tainted' | 'scripted';

/** Which documents of a lease may hold a secret, and in which the agent may have left code. */
export interface Documents {
  /** A password or a code goes into this frame's document now. */
  filled(frame: Frame): void;
  /** Code of the agent is about to run in the documents of this page. */
  runsScript(page: Page): void;
  /** Whether a password or a code was filled in this lease, or a profile brought one: until then nothing can be tainted. */
  isGuarding(): boolean;
  /** Whether a document of the tab may hold a secret. Never rejects: a tab that does not answer may hold one. */
  isTainted(page: Page): Promise<boolean>;
  /** Whether what the tab sends now is of a tainted document. Answers at once: when `isTainted` has, that may be gone. */
  sendsTainted(page: Page): boolean;
  /** Whether code of the agent may still run in the frame's document. Never rejects. */
  isScripted(frame: Frame): Promise<boolean>;
  /** Whether a tab sent the request while a document of it was tainted. */
  isFromTainted(request: Request): boolean;
  /** Values that an earlier lease filled in may come with a profile: documents are read for it from now on. */
  guard(): void;
}

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

const ANSWER_MS = 1_000;

/**
 * Follows the documents of every tab of the context. A mark ends with its document. `holds` tells whether a text holds
 * a password or a code: what was carried into another document is found by reading that.
 */
export function trackDocuments(context: BrowserContext, holds: Holds): Documents {
  const marked = new Map<Frame, Marked>();
  /** Sites of which a document was ever marked. */
  const ever: Readonly<Record<Mark, Set<string>>> = { tainted: new Set(), scripted: new Set() };
  /** The site from which a tab that opened without an address has its origin. */
  const borrowed = new WeakMap<Page, string>();
  /** Work on which the marks still depend. */
  const pending = new Set<Promise<void>>();
  const fromTainted = new WeakSet<Request>();
  let isGuarding = false;

  function reachedFrom(frame: Frame): string | undefined {
    const own = siteOf(frame.url());
    if (own !== undefined || !/^about:/.test(frame.url())) return own;
    const parent = frame.parentFrame();
    return parent === null ? borrowed.get(frame.page()) : reachedFrom(parent);
  }

  function put(frame: Frame, marks: Set<Mark>, known?: Marked['document']): void {
    if (marks.size === 0) return;
    const site = reachedFrom(frame);
    if (site !== undefined) for (const mark of marks) ever[mark].add(site);
    const document = known ?? frame.evaluateHandle('({})').catch(() => undefined);
    marked.set(frame, { site, hasAddress: siteOf(frame.url()) !== undefined, marks, document });
  }

  function add(frame: Frame, mark: Mark): void {
    const before = marked.get(frame);
    if (before === undefined) put(frame, new Set([mark]));
    else {
      before.marks.add(mark);
      if (before.site !== undefined) ever[mark].add(before.site);
    }
  }

  /** Marks the frame's document and every other that scripts of its site reach, in every tab. */
  function addToSite(frame: Frame, mark: Mark): void {
    const site = reachedFrom(frame);
    add(frame, mark);
    if (site === undefined) return;
    for (const each of context.pages().flatMap(page => page.frames())) if (reachedFrom(each) === site) add(each, mark);
  }

  /** Marks that a new document gets from those of its site that live beside it. */
  function inherited(frame: Frame): Set<Mark> {
    const site = reachedFrom(frame);
    const beside = [...marked].filter(([other, each]) => site !== undefined && other !== frame && each.site === site);
    return new Set(beside.flatMap(([, { marks }]) => [...marks]));
  }

  /** Marks of a document that came into being by a script which may be gone by now. */
  const everOn = (site: string | undefined): Mark[] =>
    site === undefined ? [] : MARKS.filter(mark => ever[mark].has(site));

  function onNavigated(frame: Frame, isNewDocument: boolean): void {
    const before = marked.get(frame);
    const site = reachedFrom(frame);
    const marks = inherited(frame);
    if (frame.url().startsWith('blob:')) for (const mark of everOn(site)) marks.add(mark);
    // The window of a tab's first, blank document stays for the next one of its site, with all that was put into it.
    const isSameWindow = !isNewDocument || (before?.hasAddress === false && before.site === site);
    if (before !== undefined && isSameWindow) for (const mark of before.marks) marks.add(mark);
    marked.delete(frame);
    put(frame, marks, isNewDocument ? undefined : before?.document);
  }

  /** A script may have opened the tab, put code into it, and be gone by now. */
  async function onOpened(page: Page): Promise<void> {
    const { isPopup, site } = await openedAs(context, page);
    if (!isPopup) return;
    if (site !== undefined) borrowed.set(page, site);
    for (const frame of page.frames())
      for (const mark of [...inherited(frame), ...everOn(reachedFrom(frame))]) add(frame, mark);
  }

  function follow(settling: Promise<void>): void {
    const settled = settling.catch(() => undefined).then(() => void pending.delete(settled));
    pending.add(settled);
  }

  function watch(page: Page): void {
    for (const frame of page.frames()) watchFrame(frame, onNavigated);
    page.on('frameattached', frame => watchFrame(frame, onNavigated));
    page.on('framedetached', frame => marked.delete(frame));
    page.on('close', () => {
      for (const frame of marked.keys()) if (frame.page() === page) marked.delete(frame);
    });
  }

  async function hasMark(frame: Frame, mark: Mark): Promise<boolean> {
    const found = marked.get(frame);
    return found?.marks.has(mark) === true && (await isAlive(found));
  }

  const sendsTainted = (page: Page | undefined): boolean =>
    [...marked].some(([frame, { marks }]) => frame.page() === page && marks.has('tainted'));

  for (const page of context.pages()) watch(page);
  context.on('page', page => {
    watch(page);
    follow(onOpened(page));
  });
  context.on('request', request => {
    if (sendsTainted(pageOf(request))) fromTainted.add(request);
  });

  return {
    filled(frame) {
      isGuarding = true;
      addToSite(frame, 'tainted');
    },
    runsScript(page) {
      for (const frame of page.frames()) addToSite(frame, 'scripted');
    },
    isGuarding: () => isGuarding,
    async isTainted(page) {
      if (!isGuarding) return false;
      await Promise.all(pending);
      const tainted = await Promise.all(page.frames().map(frame => hasMark(frame, 'tainted')));
      if (tainted.includes(true)) return true;
      const holding = await holdsSecret(context, page, holds);
      if (holding) add(page.mainFrame(), 'tainted');
      return holding;
    },
    async isScripted(frame) {
      await Promise.all(pending);
      return hasMark(frame, 'scripted');
    },
    sendsTainted,
    isFromTainted: request => fromTainted.has(request),
    guard() {
      isGuarding = true;
    },
  };
}

const MARKS: readonly Mark[] = ['tainted', 'scripted'];

/** How Playwright tells a frame that it was navigated, in the pinned version; `framenavigated` does not tell whether the document is another one. */
interface Navigated {
  readonly error?: string;
  readonly newDocument?: object;
}
const frameEvents = z.custom<{ on(event: 'navigated', listener: (event: Navigated) => void): void }>(
  value => typeof Object(value).on === 'function',
);

function watchFrame(frame: Frame, onNavigated: (frame: Frame, isNewDocument: boolean) => void): void {
  frameEvents.parse(Reflect.get(frame, '_eventEmitter')).on('navigated', ({ error, newDocument }) => {
    if (error === undefined) onNavigated(frame, newDocument !== undefined);
  });
}

/** Undefined: a service worker sent it, or a tab that is about to open. */
function pageOf(request: Request): Page | undefined {
  try {
    return request.frame().page();
  } catch {
    return undefined;
  }
}

/** Whether a page opened the tab, and the site from which its document has its origin, as the browser knows it. */
async function openedAs(context: BrowserContext, page: Page): Promise<{ isPopup: boolean; site: string | undefined }> {
  const session = await context.newCDPSession(page);
  try {
    const { targetInfo } = await session.send('Target.getTargetInfo');
    const { frameTree } = await session.send('Page.getFrameTree');
    // The tree has no origin of a document that borrows one; what the page itself says could be a lie.
    const origin = String(await evaluateAside(session, frameTree.frame.id, 'self.origin'));
    return { isPopup: targetInfo.openerId !== undefined, site: siteOf(origin) };
  } finally {
    await session.detach().catch(() => undefined);
  }
}

/** A handle is of no use once its document is gone; a document that does not answer is there. */
function isAlive({ document }: Marked): Promise<boolean> {
  const answered = document.then(held => held?.evaluate('true')).then(answer => answer === true);
  return Promise.race([answered.catch(() => false), delay(ANSWER_MS, true, { ref: false })]);
}
