import swagger from '@fastify/swagger';
import Fastify, { type FastifyInstance, LogController } from 'fastify';
import {
  jsonSchemaTransform,
  jsonSchemaTransformObject,
  serializerCompiler,
  validatorCompiler,
} from 'fastify-type-provider-zod';
import type { Logger } from 'pino';
import { OmicronError } from '../../contract/problem.ts';
import { LIMITS } from '../../contract/session.ts';
import type { ControllerKeys } from '../../contract/tokens.ts';
import type { Keys } from '../lease/assignment-tokens.ts';
import type { SecretStore } from '../ports/secrets.ts';
import type { Broker } from '../store/broker.ts';
import { credentialRoutes } from './credentials.ts';
import { type EgressRoutes, egressRoutes } from './egress.ts';
import { type PolicyRoutes, policyRoutes } from './policies.ts';
import { answerProblems, clientErrorHandler, frameworkErrors } from './problems.ts';
import { runnerRoutes } from './runners.ts';
import { type SessionRoutes, sessionRoutes } from './sessions.ts';
import { type UserActionRoutes, userActionRoutes } from './user-actions.ts';

export interface ServerParts extends SessionRoutes, EgressRoutes, PolicyRoutes, UserActionRoutes {
  keys: Keys;
  publicKeys: ControllerKeys;
  broker: Broker;
  secrets: SecretStore;
  provider: string;
  version: string;
  log: Logger;
}

/** A request is sent whole in this time; the answer may take longer. */
const REQUEST_TIMEOUT_MS = 30_000;

/** The controller's HTTP server: sessions, credentials, broker and reports, health, metrics, OpenAPI. */
export async function buildServer(parts: ServerParts): Promise<FastifyInstance> {
  const app = Fastify({
    loggerInstance: parts.log,
    // paths hold user ids; transitions are logged where they happen
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: LIMITS.bodyBytesMax,
    routerOptions: { maxParamLength: 3 * LIMITS.idBytesMax }, // an id, percent-encoded
    requestTimeout: REQUEST_TIMEOUT_MS,
    frameworkErrors,
    clientErrorHandler,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    genReqId: () => crypto.randomUUID(),
  });
  app.setValidatorCompiler(validatorCompiler);
  app.setSerializerCompiler(serializerCompiler);
  answerProblems(app as unknown as FastifyInstance); // the logger's type is pino's, which Fastify's default type does not name
  acceptOnlyJson(app as unknown as FastifyInstance);

  let stopping = false;
  app.addHook('preClose', async () => {
    stopping = true;
    await parts.getOrCreate.idle(); // the server still listens: runners that are being assigned redeem here
  });
  app.addHook('onRequest', async request => {
    if (stopping && request.url.startsWith('/internal/browser-sessions'))
      throw new OmicronError('shutting_down', 'This replica is stopping; ask again.', { retryAfterSeconds: 1 });
  });

  app.addHook('onSend', async (_request, reply) => {
    if (stopping) reply.header('connection', 'close'); // or the stop waits until callers let go of their connections
  });

  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'omicron-browser session controller',
        version: parts.version,
        description:
          'Leases isolated browsers for AI agents: one runner per (user, conversation), served over Playwright MCP.',
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      components: {
        securitySchemes: {
          service: {
            type: 'http',
            scheme: 'bearer',
            bearerFormat: 'JWT',
            description: 'HS256, 60 s, aud browser-session-controller',
          },
          egress: {
            type: 'http',
            scheme: 'bearer',
            bearerFormat: 'JWT',
            description: 'HS256 under a secret of its own, 60 s, aud egress-authorize',
          },
          runner: {
            type: 'http',
            scheme: 'bearer',
            bearerFormat: 'JWT',
            description: 'EdDSA, issued by the controller to one runner',
          },
        },
      },
    },
    transform: jsonSchemaTransform,
    transformObject: jsonSchemaTransformObject,
  });
  await app.register(sessionRoutes, parts);
  await app.register(credentialRoutes, parts);
  await app.register(runnerRoutes, parts);
  await app.register(policyRoutes, parts);
  await app.register(egressRoutes, parts);
  await app.register(userActionRoutes, parts);

  const { directory, metrics } = parts;
  const hidden = { schema: { hide: true } };
  app.get('/healthz', hidden, async () => ({ status: 'ok' }));
  app.get('/readyz', hidden, async () => {
    if (stopping) throw new OmicronError('shutting_down', 'This replica is stopping.');
    await directory.stats();
    return { status: 'ok' };
  });
  app.get('/health', hidden, async () => {
    const { active, starting, capacity, runners } = await directory.stats();
    return {
      status: 'ok',
      version: parts.version,
      provider: parts.provider,
      uptime_seconds: Math.round(process.uptime()),
      active_sessions: active,
      starting_sessions: starting,
      capacity,
      runners,
    };
  });
  app.get('/metrics', hidden, async (_request, reply) => reply.type(metrics.contentType).send(await metrics.text()));
  app.get('/openapi.json', hidden, async () => app.swagger());
  await app.ready();
  return app as unknown as FastifyInstance;
}

/** Nothing but JSON; a POST without a body may still say that it is JSON, as many clients do. */
function acceptOnlyJson(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body === '') done(null, undefined);
    else parse(request, String(body), done);
  });
}
