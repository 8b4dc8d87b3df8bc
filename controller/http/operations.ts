import type { FastifyInstance } from 'fastify';
import type { FleetCounts } from '../../contract/fleet.ts';
import { OmicronError } from '../../contract/problem.ts';
import type { Metrics } from '../metrics.ts';
import type { Directory } from '../store/directory.ts';
import { serviceOnly } from './bearer.ts';

export interface OperationsRoutes {
  serviceKey: Uint8Array;
  directory: Directory;
  metrics: Metrics;
  provider: string;
  version: string;
}

const hidden = { schema: { hide: true } };

/** Open pages of the console ask every two seconds, and share one look. */
const COUNTS_KEPT_MS = 1_000;

/** Routes of operators and probes: health, metrics, the OpenAPI document. Probes come every few seconds and count nothing. */
export function operationsRoutes(app: FastifyInstance, parts: OperationsRoutes, isStopping: () => boolean): void {
  const { serviceKey, directory, metrics, provider, version } = parts;
  app.get('/healthz', hidden, async () => ({ status: 'ok' }));
  app.get('/readyz', hidden, async () => {
    if (isStopping()) throw new OmicronError('shutting_down', 'This replica is stopping.');
    await directory.answers();
    return { status: 'ok' };
  });
  app.get('/health', hidden, async () => {
    await directory.answers();
    return { status: 'ok', version, provider, uptime_seconds: Math.round(process.uptime()) };
  });
  const counts = keptFor(COUNTS_KEPT_MS, () => countFleet(directory));
  app.get('/fleet', { ...hidden, onRequest: serviceOnly(serviceKey) }, counts);
  app.get('/metrics', hidden, async (_request, reply) => reply.type(metrics.contentType).send(await metrics.text()));
  app.get('/openapi.json', hidden, async () => app.swagger());
}

async function countFleet(directory: Directory): Promise<FleetCounts> {
  const { active, starting, capacity, runners } = await directory.stats();
  return { active_sessions: active, starting_sessions: starting, capacity, runners };
}

/** `read`, whose answer serves everyone who asks within this time. */
function keptFor<Answer>(ms: number, read: () => Promise<Answer>): () => Promise<Answer> {
  let last: { answer: Promise<Answer>; untilMs: number } | undefined;
  return () => {
    const nowMs = performance.now();
    if (last === undefined || nowMs >= last.untilMs) {
      const answer = read();
      answer.catch(() => (last = undefined));
      last = { answer, untilMs: nowMs + ms };
    }
    return last.answer;
  };
}
