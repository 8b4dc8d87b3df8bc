import type { Socket } from 'node:net';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { hasZodFastifySchemaValidationErrors } from 'fastify-type-provider-zod';
import { OmicronError, PROBLEM_TYPE, PROBLEMS, problemSchema } from '../../contract/problem.ts';
import { LIMITS } from '../../contract/session.ts';

const problem = {
  description: 'A problem document (RFC 9457)',
  content: { [PROBLEM_TYPE]: { schema: problemSchema } },
};
/** How every route describes its errors. */
export const problems = { '4xx': problem, '5xx': problem };

/** Unknown or another user's: the same answer. */
export const sessionNotFound = () =>
  new OmicronError('session_not_found', 'No session has this id; list them to find yours.');

/** What Fastify itself refuses, in our words. */
function ofFastify(error: FastifyError): OmicronError | undefined {
  switch (error.code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new OmicronError('payload_too_large', `Send at most ${LIMITS.bodyBytesMax} bytes.`);
    case 'FST_ERR_BAD_URL':
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return new OmicronError(
        'invalid_request',
        'The address is not valid: percent-encode ids of at most 256 bytes as UTF-8.',
      );
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

/** Answers what Fastify refuses before it has a route. */
export const frameworkErrors = (error: FastifyError, request: FastifyRequest, reply: FastifyReply): void =>
  send(request, reply, toOmicronError(error));

/** Answers what is not HTTP, or too slow or too large to be read. */
export function clientErrorHandler(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const problem = new OmicronError(
    'invalid_request',
    'The request could not be read; send well-formed HTTP.',
  ).toProblem();
  const body = JSON.stringify(problem);
  const head = [`HTTP/1.1 ${problem.status} Bad Request`, `content-type: ${PROBLEM_TYPE}`, 'connection: close'];
  socket.end([...head, `content-length: ${Buffer.byteLength(body)}`, '', body].join('\r\n'));
}

export function answerProblems(app: FastifyInstance): void {
  app.setErrorHandler((error: FastifyError, request, reply) => send(request, reply, toOmicronError(error)));
  app.setNotFoundHandler((request, reply) =>
    send(request, reply, new OmicronError('route_not_found', 'See /openapi.json for the routes of this service.')),
  );
}
