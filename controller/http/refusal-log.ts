import type { FastifyRequest } from 'fastify';
import * as z from 'zod';
import type { OmicronError, Problem } from '../../contract/problem.ts';

/** Ids of ours; those of the platform, which a path may hold too, are not logged. */
const IDS = z.object({
  session_id: z.uuid().optional().catch(undefined),
  runner_id: z.uuid().optional().catch(undefined),
  artifact_id: z.uuid().optional().catch(undefined),
  action_id: z.uuid().optional().catch(undefined),
  epoch: z.int().optional().catch(undefined),
});
const idsIn = (value: unknown): z.output<typeof IDS> => IDS.safeParse(value).data ?? {};

/** Logs that a request is refused, by its route and not its path: at debug what the caller can change (4xx), at warn what it cannot. */
export function logRefusal(request: FastifyRequest, error: OmicronError, problem: Problem): void {
  if (problem.code === 'internal_error') {
    request.log.error({ err: error.cause ?? error }, 'unexpected error');
    return;
  }
  const ids = { ...idsIn(request.body), ...idsIn(request.lease?.claims), ...idsIn(request.params), ...idsIn(problem) };
  const fields = { method: request.method, route: request.routeOptions?.url, code: problem.code, ...ids };
  if (problem.status >= 500) request.log.warn({ ...fields, err: error }, 'request refused');
  else request.log.debug(fields, 'request refused');
}
