import { EventEmitter } from 'node:events';
import type { BrowserContext, Page, Request } from 'playwright-core';
import type { PageGuard } from '../../../runner/browser/page-guard.ts';

interface FakeTabs {
  readonly context: BrowserContext;
  readonly page: Page;
  /** Address of the tab. */
  at: string;
  /** Emits an event of the browser context. */
  emit(event: string, subject: unknown): void;
}

/** As Playwright MCP keeps it. */
const upstreamTab = {
  isCurrentTab: () => true,
  modalStates: () => [],
  clearModalState: () => undefined,
  _requests: [],
  _clearCollectedArtifacts: () => undefined,
};

/** A browser with one tab. */
export function fakeTabs(url = 'https://shop.test/'): FakeTabs {
  const context = new EventEmitter();
  const frame = { page: () => page };
  const page = {
    url: () => tabs.at,
    title: async () => 'Shop',
    context: () => context,
    mainFrame: () => frame,
    isClosed: () => false,
    evaluate: async () => true,
    frames: () => [],
    [Symbol('tabSymbol')]: upstreamTab,
  } as unknown as Page; // all that is asked of it
  Object.assign(context, { pages: () => [page] });
  const tabs: FakeTabs = {
    context: context as unknown as BrowserContext, // all that is asked of it
    page,
    at: url,
    emit: (event, subject) => context.emit(event, subject),
  };
  return tabs;
}

/** The request of the tab's own document, and its answer. */
export function documentOf({ page }: FakeTabs, url: string, status = 200, headers: Record<string, string> = {}) {
  const request = {
    isNavigationRequest: () => true,
    frame: () => page.mainFrame(),
    url: () => url,
    redirectedFrom: () => null,
    failure: () => ({ errorText: 'net::ERR_CONNECTION_REFUSED' }),
  };
  const response = { request: () => request, status: () => status, url: () => url, headers: () => headers };
  return { request: request as unknown as Request, response }; // all that is asked of it
}

/** A guard that sees these dialogs, and remembers which tabs it closed. */
export function fakeGuard(open: { dialogs: readonly string[] } = { dialogs: [] }, asksToLeave = false) {
  const closed: (string | undefined)[] = [];
  const held = (page: Page) =>
    open.dialogs.map(message => ({ page, dialog: { type: () => 'alert', message: () => message } }));
  const guard = {
    settled: async () => undefined,
    showsDialog: () => open.dialogs.length > 0,
    asksToLeave: () => asksToLeave,
    close: async (_page: Page, why?: string) => {
      closed.push(why);
    },
    dialogs: { holding: async (page: Page) => held(page)[0], all: () => open.dialogs.map(() => ({})) },
    awaited: { arrived: async () => undefined },
  } as unknown as PageGuard; // all that is asked of it
  return { guard, closed };
}
