import type { FastifyInstance } from 'fastify';

/** How a request was answered. */
export type RequestOutcome = 'answered' | 'refused' | 'failed';

/** Counts of a console. */
export interface ConsoleMetrics {
  answered(outcome: RequestOutcome, seconds: number): void;
  /** Called once, with what is read at each scrape. */
  watch(counts: { readonly liveViews: () => number; readonly signIns: () => number }): void;
}

/** Counts requests of the API; files of the pages and probes are none. */
export function countRequests(app: FastifyInstance, answered: ConsoleMetrics['answered']): void {
  app.addHook('onResponse', async (request, { statusCode, elapsedTime }) => {
    if (!request.routeOptions.url?.startsWith('/api/')) return;
    const outcome = statusCode >= 500 ? 'failed' : statusCode >= 400 ? 'refused' : 'answered';
    answered(outcome, elapsedTime / 1_000);
  });
}
