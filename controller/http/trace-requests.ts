import type { FastifyInstance, FastifyRequest } from 'fastify';
import { OmicronError } from '../../contract/problem.ts';
import type { Span } from '../../process/span.ts';
import { openSpan } from '../../process/tracing.ts';

/** Runners and proxies report every few seconds: these requests are in a caller's trace, and begin none. */
const REPORTS = /^\/internal\/(?:runner-|egress)/;
const PROBES = /^\/(?:healthz|readyz|health|metrics|openapi\.json)$/;

/**
 * A span for each request, below the caller's `traceparent`. It has the route's template, not the address: ids of users and
 * queries are none of a collector's business.
 */
export function traceRequests(app: FastifyInstance): void {
  const spans = new WeakMap<FastifyRequest, Span>();
  app.addHook('onRequest', async request => {
    const route = request.routeOptions.url;
    const { traceparent } = request.headers;
    if (route === undefined || PROBES.test(route) || (traceparent === undefined && REPORTS.test(route))) return;
    const { method } = request;
    spans.set(
      request,
      openSpan(`${method} ${route}`, {
        kind: 'server',
        parent: traceparent,
        attributes: { 'http.request.method': method, 'http.route': route },
      }),
    );
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
  app.addHook('onResponse', async (request, reply) => {
    const span = spans.get(request);
    span?.set({ 'http.response.status_code': reply.statusCode });
    span?.end();
  });
}
