import type { BrowserContext, Request } from 'playwright-core';
import * as z from 'zod';

/** Answers that leave the page as it is: https://html.spec.whatwg.org/multipage/browsing-the-web.html#attempt-to-populate-the-history-entry's-document */
const EMPTY: ReadonlySet<number> = new Set([204, 205]);

/**
 * Lets Playwright forget a document that was answered without one, as after a form that only saves. Chromium reports its end like that of any
 * other's, so that Playwright 1.64 waits for it until another one comes: this action and all that follow would end in time-outs. (For
 * WebKit it does the same itself.)
 */
export function forgetEmptyDocuments(context: BrowserContext): void {
  context.on('requestfinished', request => {
    if (request.isNavigationRequest()) void forgetIfEmpty(request).catch(() => undefined); // its tab is gone
  });
}

async function forgetIfEmpty(request: Request): Promise<void> {
  const response = await request.response();
  if (response === null || !EMPTY.has(response.status())) return;
  const { frame, pending } = insideOf(request);
  // Another one may be on its way already.
  if (pending !== undefined) frame._page.frameManager.frameAbortedNavigation(frame._id, NO_CONTENT, pending.documentId);
}

const NO_CONTENT = 'The site answered without a document';

interface ServerFrame {
  readonly _id: string;
  readonly _page: {
    readonly frameManager: { frameAbortedNavigation(frameId: string, why: string, documentId?: string): void };
  };
  pendingDocument(): { readonly documentId?: string; readonly request?: unknown } | undefined;
}

const method = z.custom<() => unknown>(value => typeof value === 'function');
const connected = z.looseObject({ _connection: z.looseObject({ toImpl: method }) });
const serverFrame = z.looseObject({
  _id: z.string(),
  _page: z.looseObject({ frameManager: z.looseObject({ frameAbortedNavigation: method }) }),
  pendingDocument: method,
});

/** Both sides of Playwright run in this process, in the same pinned bundle. */
function insideOf(request: Request) {
  const toImpl = (part: object): unknown => {
    const { _connection: connection } = connected.parse(part);
    return (connection as { toImpl(part: object): unknown }).toImpl(part);
  };
  const found = toImpl(request.frame());
  serverFrame.parse(found); // only checked: its methods want it as `this`
  const frame = found as ServerFrame;
  const pending = frame.pendingDocument();
  return { frame, pending: pending?.request === toImpl(request) ? pending : undefined };
}
