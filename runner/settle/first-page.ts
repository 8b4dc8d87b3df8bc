import type { BrowserContext, Page, Request } from 'playwright-core';
import type { Clock } from '../../time/clock.ts';
import { tabOfDocument } from '../browser/request-frame.ts';

/**
 * Watches for the first page that a call of the lease opens. `onLoaded` is called once, with the milliseconds from that call until its
 * page was loaded: the time of the agent between the lease and its call is none of the service's. A page that is not answered does not count.
 */
export function watchFirstPage(
  context: BrowserContext,
  clock: Clock,
  onLoaded: (ms: number) => void,
): { callStarted(): void } {
  let calledMs: number | undefined;
  const asked = new Map<Page, { sinceMs: number; request: Request; isAnswered: boolean }>();

  const onRequest = (request: Request) => {
    const tab = tabOfDocument(request);
    if (tab === undefined || calledMs === undefined) return;
    if (!asked.has(tab)) tab.once('load', onLoad);
    asked.set(tab, { sinceMs: calledMs, request, isAnswered: false });
  };
  const onResponse = (response: { request(): Request }) => {
    for (const load of asked.values()) load.isAnswered ||= load.request === response.request();
  };
  const onLoad = (tab: Page) => {
    const load = asked.get(tab);
    asked.delete(tab);
    if (load === undefined || !load.isAnswered) return;
    context.off('request', onRequest);
    context.off('response', onResponse);
    asked.clear();
    onLoaded(clock.nowMs() - load.sinceMs);
  };
  context.on('request', onRequest);
  context.on('response', onResponse);
  return {
    callStarted() {
      calledMs = clock.nowMs();
    },
  };
}
