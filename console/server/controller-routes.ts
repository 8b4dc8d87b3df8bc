import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import type { FastifyContextConfig, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { OmicronError } from '../../contract/problem.ts';
import { askController, type ControllerAccess } from './controller-access.ts';
import { signInOf } from './rights.ts';

/**
 * Routes of the controller that pages may call, under `/api` here and `/internal` there. Leases are not among them: no MCP
 * token reaches a page.
 */
const ROUTES = [
  ['GET', '/browser-sessions'],
  ['GET', '/browser-sessions/:session_id'],
  ['DELETE', '/browser-sessions/:session_id'],
  ['POST', '/browser-sessions/:session_id/archive'],
  ['GET', '/browser-sessions/:session_id/events'],
  ['GET', '/browser-sessions/:session_id/artifacts'],
  ['GET', '/browser-sessions/:session_id/artifacts/:artifact_id/content'],
  ['GET', '/browser-sessions/:session_id/user-actions'],
  ['GET', '/user-actions'],
  ['GET', '/users/:user_id/credentials'],
  ['PUT', '/users/:user_id/credentials/:site'],
  ['DELETE', '/users/:user_id/credentials/:site'],
  ['GET', '/users/:user_id/profiles'],
  ['GET', '/users/:user_id/profiles/:name'],
  ['POST', '/users/:user_id/profiles/:name/save'],
  ['POST', '/users/:user_id/profiles/:name/check'],
  ['POST', '/users/:user_id/profiles/:name/restore'],
  ['DELETE', '/users/:user_id/profiles/:name'],
] as const;

/** Webhooks are the deployment's: they say where events of all users go. */
const WEBHOOKS = [
  ['GET', '/webhooks'],
  ['POST', '/webhooks'],
  ['POST', '/webhooks/:webhook_id/test'],
  ['POST', '/webhooks/:webhook_id/pause'],
  ['POST', '/webhooks/:webhook_id/resume'],
  ['POST', '/webhooks/:webhook_id/rotate-secret'],
  ['GET', '/webhooks/:webhook_id/failures'],
  ['POST', '/webhooks/:webhook_id/replay'],
  ['DELETE', '/webhooks/:webhook_id'],
] as const;

/** Admins decide what agents may do; the people under a policy may read it. */
const POLICIES = ['/policy', '/users/:user_id/policy', '/browser-sessions/:session_id/policy'] as const;

/** The part of the controller's answer that a page sees. */
const ANSWER_HEADERS = [
  ...['content-type', 'content-length', 'retry-after', 'accept-ranges', 'content-range'],
  // For artifacts that strangers wrote: shown, they would run in the console's origin.
  ...['content-disposition', 'x-content-type-options'],
];

/** Passes the calls of the pages on, each with a service token of its own. */
export function controllerRoutes(app: FastifyInstance, controller: ControllerAccess): void {
  const pass = async (path: string, request: FastifyRequest, reply: FastifyReply, body = request.body) => {
    const query = request.url.indexOf('?');
    const answer = await askController(controller, {
      method: request.method,
      path: `${path}${query === -1 ? '' : request.url.slice(query)}`,
      body,
      person: signInOf(request),
      headers: request.headers.range === undefined ? {} : { range: request.headers.range },
    });
    reply.status(answer.status).header('cache-control', 'no-store');
    for (const name of ANSWER_HEADERS) {
      const value = answer.headers.get(name);
      if (value !== null) reply.header(name, value);
    }
    return reply.send(answer.body ? Readable.fromWeb(answer.body as ReadableStream) : null); // the same stream, by two names
  };

  const route = (method: (typeof ROUTES)[number][0], path: string, config: FastifyContextConfig = {}) =>
    app.route({
      method,
      url: `/api${path}`,
      config,
      handler: (request, reply) =>
        pass(`/internal${fillRoute(path, request.params as Record<string, string>)}`, request, reply), // all of them are text
    });
  for (const [method, path] of ROUTES) route(method, path);
  for (const [method, path] of WEBHOOKS) route(method, path, { role: 'admin' });
  for (const path of POLICIES) {
    route('GET', path);
    for (const method of ['PUT', 'DELETE'] as const) route(method, path, { role: 'admin' });
  }
  // The person is the one who is signed in, whatever a page says.
  const answerPath = '/browser-sessions/:session_id/user-actions/:action_id';
  app.post(`/api${answerPath}`, (request, reply) => {
    const { id, name } = signInOf(request);
    const path = `/internal${fillRoute(answerPath, request.params as Record<string, string>)}`;
    return pass(path, request, reply, { ...(request.body as object), viewer: name, viewer_id: id });
  });
  app.get('/api/fleet', (request, reply) => pass('/fleet', request, reply));
}

/** The route with its parameters. `.` and `..` would name another route. */
function fillRoute(route: string, params: Readonly<Record<string, string>>): string {
  return route.replaceAll(/:(\w+)/g, (_, name: string) => {
    const value = params[name] ?? '';
    if (value === '' || value === '.' || value === '..')
      throw new OmicronError('invalid_request', `"${value}" cannot be ${name} here.`);
    return encodeURIComponent(value);
  });
}
