import type { BrowserContext, Request } from 'playwright-core';
import type { Span } from '../../process/span.ts';
import { isTracing, openSpan } from '../../process/tracing.ts';
import { tabOfDocument } from '../browser/request-frame.ts';

/** The running spans of a lease, to which page loads are added. */
interface Running {
  readonly traceparent: string | undefined;
  beginLoad(span: Span): () => void;
}

/**
 * A span for each document of a tab that is asked for while a traced call runs, until it is loaded or fails. Its address is not in it.
 * Does nothing in a process that is not traced.
 */
export function tracePageLoads(context: BrowserContext, running: Running): void {
  if (!isTracing()) return;
  const loads = new WeakMap<Request, { readonly span: Span; readonly stop: () => void }>();
  const end = (request: Request) => {
    const load = loads.get(request);
    load?.stop();
    load?.span.end();
  };
  context.on('request', request => {
    const parent = running.traceparent;
    if (parent === undefined || tabOfDocument(request) === undefined) return;
    const attributes = { 'http.request.method': request.method() };
    const span = openSpan('page load', { kind: 'client', parent, attributes });
    loads.set(request, { span, stop: running.beginLoad(span) });
  });
  context.on('response', response =>
    loads.get(response.request())?.span.set({ 'http.response.status_code': response.status() }),
  );
  context.on('requestfinished', end);
  context.on('requestfailed', request => {
    loads.get(request)?.span.set({ 'error.type': '_OTHER' });
    end(request);
  });
}
