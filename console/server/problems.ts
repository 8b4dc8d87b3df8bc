import type { FastifyError, FastifyInstance } from 'fastify';
import { OmicronError, PROBLEM_TYPE } from '../../contract/problem.ts';

/** Every error becomes a problem document; the text of an unexpected one is not shown. */
export function answerProblems(app: FastifyInstance): void {
  app.setErrorHandler((error: FastifyError, request, reply) => {
    const known = expected(error);
    if (!known) request.log.error({ err: error }, 'unexpected error');
    const problem = (
      known ?? new OmicronError('internal_error', 'The console failed; its log has the reason.')
    ).toProblem();
    reply.status(problem.status).type(PROBLEM_TYPE).serializer(JSON.stringify).send(problem);
  });
  app.setNotFoundHandler(() => {
    throw new OmicronError('route_not_found', 'The console has no such page; begin at /.');
  });
}

function expected(error: FastifyError): OmicronError | undefined {
  if (error instanceof OmicronError) return error;
  const { statusCode = 500 } = error;
  return statusCode >= 400 && statusCode < 500
    ? new OmicronError('invalid_request', 'The request is not one that a page of the console sends.')
    : undefined;
}
