import type { FastifyInstance } from 'fastify';
import { OmicronError } from '../../contract/problem.ts';
import type { Metrics } from '../metrics.ts';
import type { Directory } from '../store/directory.ts';

export interface OperationsRoutes {
  directory: Directory;
  metrics: Metrics;
  provider: string;
  version: string;
}

const hidden = { schema: { hide: true } };

/** Routes of operators and probes: health, metrics, the OpenAPI document. */
export function operationsRoutes(app: FastifyInstance, parts: OperationsRoutes, isStopping: () => boolean): void {
  const { directory, metrics, provider, version } = parts;
  app.get('/healthz', hidden, async () => ({ status: 'ok' }));
  app.get('/readyz', hidden, async () => {
    if (isStopping()) throw new OmicronError('shutting_down', 'This replica is stopping.');
    await directory.stats();
    return { status: 'ok' };
  });
  app.get('/health', hidden, async () => {
    const { active, starting, capacity, runners } = await directory.stats();
    return {
      status: 'ok',
      version,
      provider,
      uptime_seconds: Math.round(process.uptime()),
      active_sessions: active,
      starting_sessions: starting,
      capacity,
      runners,
    };
  });
  app.get('/metrics', hidden, async (_request, reply) => reply.type(metrics.contentType).send(await metrics.text()));
  app.get('/openapi.json', hidden, async () => app.swagger());
}
