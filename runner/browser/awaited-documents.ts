import type { BrowserContext, Page, Request } from 'playwright-core';
import { within } from '../../time/within.ts';
import { NAVIGATION_MS } from './navigation-time.ts';
import { sessionOf } from './page-session.ts';
import { frameOf, tabOfDocument } from './request-frame.ts';
import { shownAddress } from './shown.ts';

/**
 * Documents that tabs have asked for and no server has begun to send. Until one comes, Chromium answers no question about the page that is
 * there, so that a server which stays silent would make the tab useless.
 */
export interface AwaitedDocuments {
  /** Resolves once the tab awaits none. One whose server is silent for 10 s is given up, and the tab stays on its page. Never rejects. */
  arrived(page: Page): Promise<void>;
  /** Notes for the agent on those given up since it was last called. */
  takeNotes(): string[];
}

/** Counted from the request, a moment after the action that is waited for 10 s. */
const SILENT_MS = 9_500;
const NAVIGATION_SECONDS = NAVIGATION_MS / 1_000;
const STOP_MS = 1_000;
const NOTES_MAX = 5;

export function awaitedDocuments(context: BrowserContext, nowMs: () => number): AwaitedDocuments {
  const awaited = new Map<Request, number>();
  const notes: string[] = [];
  const told = new WeakSet<Request>();
  const forget = (request: Request) => awaited.delete(request);
  context.on('request', request => {
    if (request.isNavigationRequest()) awaited.set(request, nowMs());
  });
  context.on('response', response => forget(response.request()));
  context.on('requestfailed', forget);
  context.on('requestfinished', forget);

  const add = (note: string) => {
    if (notes.length < NOTES_MAX) notes.push(note);
  };

  async function giveUp(page: Page, request: Request, silentMs: number): Promise<void> {
    forget(request);
    await within(
      sessionOf(page).then(session => session.send('Page.stopLoading')),
      STOP_MS,
    );
    const seconds = Math.round(silentMs / 1_000);
    add(
      `${shownAddress(request.url())} did not begin to answer within ${seconds} s and was given up; the tab is where it was.${seconds < NAVIGATION_SECONDS ? ` browser_navigate waits for ${NAVIGATION_SECONDS} s.` : ''}`,
    );
  }

  /** Playwright knows a tab only once its first document has begun. */
  function tellOfWindows(): void {
    for (const [request, sinceMs] of awaited)
      if (frameOf(request) === undefined && nowMs() - sinceMs >= SILENT_MS && !told.has(request)) {
        told.add(request);
        add(`A window opens once ${shownAddress(request.url())} answers; it has been silent for 10 s.`);
      }
  }

  return {
    async arrived(page) {
      for (;;) {
        // The frame of a new tab is known only now.
        const [request, sinceMs] = [...awaited].find(([each]) => tabOfDocument(each) === page) ?? [];
        if (request === undefined || sinceMs === undefined || page.isClosed()) return;
        const silentMs = nowMs() - sinceMs;
        if (silentMs >= SILENT_MS) await giveUp(page, request, silentMs);
        else if ((await within(request.response(), SILENT_MS - silentMs)) !== undefined) forget(request);
      }
    },
    takeNotes() {
      tellOfWindows();
      return notes.splice(0);
    },
  };
}
