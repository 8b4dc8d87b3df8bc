import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { hasZodFastifySchemaValidationErrors } from 'fastify-type-provider-zod';
import { OmicronError, PROBLEM_TYPE } from '../../contract/problem.ts';
import { LIMITS } from '../../contract/session.ts';
import { methodsOfPaths } from './methods.ts';
import { logRefusal } from './refusal-log.ts';

/** Unknown or another user's: the same answer. */
export const sessionNotFound = () =>
  new OmicronError('session_not_found', 'No session has this id; list sessions to find the right one.');

export const userActionNotFound = () =>
  new OmicronError('user_action_not_found', 'No user action of this session has this id.');

/** Refusals of Fastify itself. */
function ofFastify(error: FastifyError, bodyBytesMax: number): OmicronError | undefined {
  switch (error.code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new OmicronError('payload_too_large', `The request body must be at most ${bodyBytesMax} bytes.`);
    case 'FST_ERR_BAD_URL':
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return new OmicronError(
        'invalid_request',
        `Invalid URL: ids are UTF-8, percent-encoded, at most ${LIMITS.idBytesMax} bytes.`,
      );
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new OmicronError('unsupported_media_type', 'The request body must be application/json.');
    default:
      return error.statusCode !== undefined && error.statusCode >= 400 && error.statusCode < 500
        ? new OmicronError('invalid_request', 'The request body is not well-formed JSON.')
        : undefined;
  }
}

/** Messages of the contract go on from the path ("must be ..."); zod's own are sentences. */
const formatIssue = ({ path, message }: { path: string; message: string }): string =>
  `${path}${/^[a-z]/.test(message) ? ' ' : ': '}${message}`;

/** Every error becomes a problem document. The text of an unexpected error is not shown. */
function toOmicronError(error: FastifyError, request: FastifyRequest): OmicronError {
  if (error instanceof OmicronError) return error;
  if (hasZodFastifySchemaValidationErrors(error)) {
    const errors = error.validation.map(fault => ({
      path: `${error.validationContext ?? 'request'}${fault.instancePath}`,
      message: fault.message ?? 'is not valid',
    }));
    const [first] = errors;
    return new OmicronError('invalid_request', `Invalid request: ${first ? formatIssue(first) : 'it is not valid'}.`, {
      errors,
    });
  }
  return (
    ofFastify(error, request.routeOptions?.bodyLimit ?? LIMITS.bodyBytesMax) ??
    new OmicronError('internal_error', 'The controller failed; its log has the reason.', {
      cause: error,
    })
  );
}

function send(request: FastifyRequest, reply: FastifyReply, error: OmicronError): void {
  const problem = error.toProblem();
  logRefusal(request, error, problem);
  if (error.retryAfterSeconds !== undefined) reply.header('retry-after', String(error.retryAfterSeconds));
  if (error.code === 'unauthorized') reply.header('www-authenticate', 'Bearer');
  reply.status(problem.status).type(PROBLEM_TYPE).serializer(JSON.stringify).send(problem);
}

/** Answers requests that Fastify refuses before it has found a route. */
export const frameworkErrors = (error: FastifyError, request: FastifyRequest, reply: FastifyReply): void =>
  send(request, reply, toOmicronError(error, request));

/** Before the routes are registered. */
export function answerProblems(app: FastifyInstance): void {
  const methodsOf = methodsOfPaths(app);
  app.setErrorHandler((error: FastifyError, request, reply) => send(request, reply, toOmicronError(error, request)));
  app.setNotFoundHandler((request, reply) => {
    const allow = methodsOf(request.url.split('?')[0] ?? '').join(', ');
    if (allow === '')
      return send(
        request,
        reply,
        new OmicronError('route_not_found', 'See /openapi.json for the routes of this service.'),
      );
    // RFC 9110, section 15.5.6
    reply.header('allow', allow);
    return send(
      request,
      reply,
      new OmicronError('method_not_allowed', `${request.method} is not served here; use ${allow}.`),
    );
  });
}
