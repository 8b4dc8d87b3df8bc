import type { FastifyInstance } from 'fastify';
import { openRequestSpans } from '../../process/request-spans.ts';

/** Runners and proxies report every few seconds: these requests are in a caller's trace, and begin none. */
const REPORTS = /^\/internal\/(?:runner-|egress)/;
const PROBES = /^\/(?:healthz|readyz|health|metrics|openapi\.json)$/;

/** A span for each request but a probe. */
export const traceRequests = (app: FastifyInstance): void =>
  openRequestSpans(
    app,
    (route, traceparent) => !PROBES.test(route) && (traceparent !== undefined || !REPORTS.test(route)),
  );
