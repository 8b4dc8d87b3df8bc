import type { FastifyInstance } from 'fastify';
import { openRequestSpans } from '../../process/request-spans.ts';

/** A span for each request of the API, which begins a trace unless its sender did; none for files of the pages, and probes. */
export const traceConsoleRequests = (app: FastifyInstance): void =>
  openRequestSpans(app, route => route.startsWith('/api/'));
