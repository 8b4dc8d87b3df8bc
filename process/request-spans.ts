import type { FastifyInstance, FastifyRequest } from 'fastify';
import { OmicronError } from '../contract/problem.ts';
import type { Span } from './span.ts';
import { openSpan } from './tracing.ts';

/**
 * A span for each request of a server, below its `traceparent`, if `isTraced` says so of its route. It has the route's template, not the
 * address: ids of users and queries are none of a collector's business.
 */
export function openRequestSpans(
  app: FastifyInstance,
  isTraced: (route: string, traceparent: unknown) => boolean,
): void {
  const spans = new WeakMap<FastifyRequest, Span>();
  const known = new Map<string, ReturnType<typeof describeRequest>>();
  const described = (method: string, route: string) => {
    const name = `${method} ${route}`;
    const description = known.get(name) ?? describeRequest(name, method, route);
    known.set(name, description);
    return description;
  };
  app.addHook('onRequest', async request => {
    const route = request.routeOptions.url;
    const { traceparent } = request.headers;
    if (route === undefined || !isTraced(route, traceparent)) return;
    const { name, attributes } = described(request.method, route);
    spans.set(request, openSpan(name, { kind: 'server', parent: traceparent, attributes }));
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

/** Frozen: the attributes of a route are judged once. */
const describeRequest = (name: string, method: string, route: string) => ({
  name,
  attributes: Object.freeze({
    'http.request.method': method,
    'http.route': route,
    'url.path': route,
    'url.scheme': 'http',
  }),
});
