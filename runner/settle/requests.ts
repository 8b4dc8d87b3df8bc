import type { BrowserContext, Page, Request } from 'playwright-core';
import { frameOf } from '../browser/request-frame.ts';

/** The requests of one action. */
export interface ActionRequests {
  /** How many the action has started; no more than `REQUESTS_MAX` are followed. */
  readonly count: number;
  /** Documents that are on their way, of the page or of a frame, each with the time at which it was asked for. */
  readonly documents: ReadonlyMap<Request, number>;
  /** Other requests whose answers may change the page. */
  readonly pending: ReadonlyMap<Request, number>;
  /** Waits no longer for these. */
  giveUp(requests: Iterable<Request>): void;
  stop(): void;
}

export interface RequestWatch {
  /** From now on requests are those of an action on this page. `onChange` is called when one begins or ends. */
  begin(page: Page, onChange: () => void): ActionRequests;
}

interface RequestListener {
  onRequest(request: Request): void;
  onEnded(request: Request): void;
  onFailed(request: Request): void;
}

/** An image or a font that is late changes nothing that is waited for. */
const WAITED: ReadonlySet<string> = new Set(['document', 'stylesheet', 'script', 'xhr', 'fetch']);
const BACKGROUND_MAX = 500;
/** A page that asks for more in one action asks without end. */
export const REQUESTS_MAX = 500;

/** Separates the requests of actions from those that pages make by themselves: these came before while no action ran. */
export function watchRequests(context: BrowserContext, nowMs: () => number): RequestWatch {
  const background = new WeakMap<Page, Set<string>>();
  const actions = new Set<RequestListener>();

  function inBackground(page: Page): Set<string> {
    const known = background.get(page) ?? new Set();
    background.set(page, known);
    return known;
  }

  function remember(request: Request): void {
    const page = pageOf(request);
    if (page === undefined) return;
    if (request.isNavigationRequest()) {
      if (frameOf(request) === page.mainFrame()) background.delete(page);
    } else if (actions.size === 0 && inBackground(page).size < BACKGROUND_MAX) inBackground(page).add(keyOf(request));
  }

  // Once for all actions: with the first listener of these events, and without the last one, Playwright informs its other side.
  context.on('request', request => {
    remember(request);
    for (const each of actions) each.onRequest(request);
  });
  context.on('requestfinished', request => {
    for (const each of actions) each.onEnded(request);
  });
  context.on('requestfailed', request => {
    for (const each of actions) each.onFailed(request);
  });

  return {
    begin(page, onChange) {
      const documents = new Map<Request, number>();
      const pending = new Map<Request, number>();
      const others = new Set(context.pages().filter(other => other !== page));
      let count = 0;
      const onRequest = (request: Request) => {
        if (!WAITED.has(request.resourceType()) || count >= REQUESTS_MAX) return;
        const from = pageOf(request);
        // A tab that was there before has its own life; one that the action opened belongs to it.
        if (from !== undefined && others.has(from)) return;
        if (request.isNavigationRequest()) documents.set(request, nowMs());
        else if (background.get(from ?? page)?.has(keyOf(request)) === true) return;
        else pending.set(request, nowMs());
        count += 1;
        onChange();
      };
      const onEnded = (request: Request) => {
        if (pending.delete(request)) onChange();
      };
      const onFailed = (request: Request) => {
        if (documents.delete(request)) onChange();
        onEnded(request);
      };
      const listener = { onRequest, onEnded, onFailed };
      actions.add(listener);
      return {
        get count() {
          return count;
        },
        documents,
        pending,
        giveUp(requests) {
          for (const request of requests) {
            documents.delete(request);
            pending.delete(request);
          }
        },
        stop() {
          actions.delete(listener);
        },
      };
    },
  };
}

const keyOf = (request: Request): string => `${request.method()} ${request.url().split('?', 1)[0]}`;

const pageOf = (request: Request): Page | undefined => frameOf(request)?.page();
