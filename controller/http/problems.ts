import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { hasZodFastifySchemaValidationErrors } from 'fastify-type-provider-zod';
import { OmicronError, PROBLEM_TYPE, PROBLEMS } from '../../contract/problem.ts';
import { LIMITS } from '../../contract/session.ts';

/** What Fastify itself refuses, in our words. */
function ofFastify(error: FastifyError): OmicronError | undefined {
  switch (error.code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new OmicronError('payload_too_large', `Send at most ${LIMITS.bodyBytesMax} bytes.`);
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new OmicronError('unsupported_media_type', 'Send the body as application/json.');
    default:
      return error.statusCode !== undefined && error.statusCode >= 400 && error.statusCode < 500
        ? new OmicronError('invalid_request', 'The request could not be read; send well-formed JSON.')
        : undefined;
  }
}

/** Every error becomes what a caller may see: a problem document. Nothing of an unexpected error's own text is shown. */
function toOmicronError(error: FastifyError): OmicronError {
  if (error instanceof OmicronError) return error;
  if (hasZodFastifySchemaValidationErrors(error)) {
    const errors = error.validation.map(fault => ({
      path: `${error.validationContext ?? 'request'}${fault.instancePath}`,
      message: fault.message ?? 'is not valid',
    }));
    const [first] = errors;
    return new OmicronError(
      'invalid_request',
      `Mend the request: ${first?.path ?? 'it'}: ${first?.message ?? 'is not valid'}.`,
      {
        errors,
      },
    );
  }
  return (
    ofFastify(error) ??
    new OmicronError('internal_error', "The controller failed; its log has the reason under this request's id.", {
      cause: error,
    })
  );
}

function send(request: FastifyRequest, reply: FastifyReply, error: OmicronError): void {
  const problem = error.toProblem();
  if (error.code === 'internal_error') request.log.error({ err: error.cause ?? error }, 'a request failed');
  else if (problem.status >= 500) request.log.warn({ err: error }, 'a request was refused');
  if (error.retryAfterSeconds !== undefined) reply.header('retry-after', String(error.retryAfterSeconds));
  if (error.code === 'unauthorized') reply.header('www-authenticate', 'Bearer');
  reply.status(PROBLEMS[error.code].status).type(PROBLEM_TYPE).serializer(JSON.stringify).send(problem);
}

export function answerProblems(app: FastifyInstance): void {
  app.setErrorHandler((error: FastifyError, request, reply) => send(request, reply, toOmicronError(error)));
  app.setNotFoundHandler((request, reply) =>
    send(request, reply, new OmicronError('route_not_found', 'See /openapi.json for the routes of this service.')),
  );
}
