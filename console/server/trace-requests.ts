import type { FastifyInstance, FastifyRequest } from 'fastify';
import { OmicronError } from '../../contract/problem.ts';
import type { Span } from '../../process/span.ts';
import { openSpan } from '../../process/tracing.ts';

/** A span for each request of the API, which begins a trace unless its sender did. It has the route's template, not the address. */
export function traceConsoleRequests(app: FastifyInstance): void {
  const spans = new WeakMap<FastifyRequest, Span>();
  app.addHook('onRequest', async request => {
    const { routeOptions, method, headers } = request;
    const { url: route } = routeOptions;
    if (!route?.startsWith('/api/')) return; // files of the pages, and probes
    const attributes = { 'http.request.method': method, 'http.route': route };
    const span = openSpan(`${method} ${route}`, { kind: 'server', parent: headers.traceparent, attributes });
    spans.set(request, span);
  });
  // After the body, whose events come from the socket and not from here.
  app.addHook('preHandler', (request, _reply, done) => {
    const span = spans.get(request);
    if (span === undefined) return done();
    const { session_id } = Object(request.params);
    if (typeof session_id === 'string') span.set({ 'omicron.session.id': session_id });
    span.run(done);
  });
  app.addHook('onError', async (request, _reply, error) => {
    spans.get(request)?.set({ 'error.type': error instanceof OmicronError ? error.code : '_OTHER' });
  });
  app.addHook('onResponse', async (request, { statusCode }) => {
    const span = spans.get(request);
    span?.set({ 'http.response.status_code': statusCode });
    span?.end();
  });
}
