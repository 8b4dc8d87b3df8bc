import type { BrowserContext, Frame, Page, Request } from 'playwright-core';
import * as z from 'zod';
import { DocumentMarks } from './document-marks.ts';
import { evaluateAside } from './isolated-world.ts';
import { type Holds, holdsSecret } from './scan.ts';
import { siteOf } from './site.ts';

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

/**
 * Follows the documents of every tab of the context. `holds` says whether a text holds a password or a code: what was
 * carried into another document is found by reading that.
 */
export function trackDocuments(context: BrowserContext, holds: Holds): Documents {
  const marks = new DocumentMarks(() => context.pages());
  /** Work on which the marks still depend. */
  const pending = new Set<Promise<void>>();
  const fromTainted = new WeakSet<Request>();
  let isGuarding = false;

  async function onOpened(page: Page): Promise<void> {
    const { isPopup, site } = await openedAs(context, page);
    if (isPopup) marks.opened(page, site);
  }

  function follow(settling: Promise<void>): void {
    const settled = settling.catch(() => undefined).then(() => void pending.delete(settled));
    pending.add(settled);
  }

  const onNavigated = (frame: Frame, isNewDocument: boolean) => marks.navigated(frame, isNewDocument);
  function watch(page: Page): void {
    for (const frame of page.frames()) watchFrame(frame, onNavigated);
    page.on('frameattached', frame => watchFrame(frame, onNavigated));
    page.on('framedetached', frame => marks.detached(frame));
    page.on('close', () => marks.closed(page));
  }

  const sendsTainted = (page: Page | undefined): boolean => marks.isMarked(page, 'tainted');

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
      marks.addToSite(frame, 'tainted');
    },
    runsScript(page) {
      for (const frame of page.frames()) marks.addToSite(frame, 'scripted');
    },
    isGuarding: () => isGuarding,
    async isTainted(page) {
      if (!isGuarding) return false;
      await Promise.all(pending);
      const tainted = await Promise.all(page.frames().map(frame => marks.has(frame, 'tainted')));
      if (tainted.includes(true)) return true;
      const holding = await holdsSecret(context, page, holds);
      if (holding) marks.add(page.mainFrame(), 'tainted');
      return holding;
    },
    async isScripted(frame) {
      await Promise.all(pending);
      return marks.has(frame, 'scripted');
    },
    sendsTainted,
    isFromTainted: request => fromTainted.has(request),
    guard() {
      isGuarding = true;
    },
  };
}

/** How Playwright informs a frame that it was navigated, in the pinned version; `framenavigated` does not say whether the document is another one. */
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
