import type { FastifyBaseLogger, FastifyError, FastifyInstance } from 'fastify';
import { OmicronError, PROBLEM_TYPE, type Problem } from '../../contract/problem.ts';

/** Every error becomes a problem document; the text of an unexpected one is not shown. */
export function handleConsoleErrors(app: FastifyInstance): void {
  app.setErrorHandler((error, request, reply) => {
    const problem = describeError(error, request.log);
    reply.status(problem.status).type(PROBLEM_TYPE).serializer(JSON.stringify).send(problem);
  });
  app.setNotFoundHandler(() => {
    throw new OmicronError('route_not_found', 'The console has no such page; begin at /.');
  });
}

/** The error as a page receives it. */
export function describeError(error: unknown, log: Pick<FastifyBaseLogger, 'error'>): Problem {
  if (error instanceof OmicronError) return error.toProblem();
  const { statusCode = 500 } = error as FastifyError; // Fastify's own errors have one
  if (statusCode >= 400 && statusCode < 500)
    return new OmicronError('invalid_request', 'The request is not one that a page of the console sends.').toProblem();
  log.error({ err: error }, 'unexpected error');
  return new OmicronError('internal_error', 'The console failed; its log has the reason.').toProblem();
}
