import swagger from '@fastify/swagger';
import Fastify, { type FastifyInstance, type FastifyRequest, LogController } from 'fastify';
import { serializerCompiler, validatorCompiler } from 'fastify-type-provider-zod';
import type { Logger } from 'pino';
import { OmicronError } from '../../contract/problem.ts';
import { LIMITS } from '../../contract/session.ts';
import { answerClientError } from '../../http/client-errors.ts';
import { parseJsonBody } from '../../http/json-body.ts';
import { neverSniff } from '../../http/never-sniff.ts';
import { trackUnusedConnections } from '../../http/unused-connections.ts';
import { onlyWebSockets } from '../../http/upgrade.ts';
import { type AgentProfileRoutes, agentProfileRoutes } from './agent-profiles.ts';
import { type ArtifactRoutes, artifactRoutes } from './artifacts.ts';
import { type AuditRequests, auditRequests } from './audit-requests.ts';
import { type CredentialRoutes, credentialRoutes } from './credentials.ts';
import { type EgressRoutes, egressRoutes } from './egress.ts';
import { type EventStreamRoutes, eventStreamRoutes } from './event-stream.ts';
import { type FileRoutes, fileRoutes } from './files.ts';
import { type LeaseMcpRoutes, leaseMcpRoutes, underRunnersName } from './lease-mcp.ts';
import { type LeaseRoutes, leaseRoutes } from './leases.ts';
import { type LiveRoutes, liveRoutes } from './live.ts';
import { pipeLiveViews } from './live-upgrade.ts';
import { controllerHead, openApi } from './openapi.ts';
import { type OperationsRoutes, operationsRoutes } from './operations.ts';
import { type PolicyRoutes, policyRoutes } from './policies.ts';
import { answerProblems, frameworkErrors } from './problems.ts';
import { type ProfileRoutes, profileRoutes } from './profiles.ts';
import { type RunnerHibernationRoutes, runnerHibernationRoutes } from './runner-hibernation.ts';
import { runnerProfileRoutes } from './runner-profile.ts';
import type { RunnerProfileRoutes } from './runner-profile-chunks.ts';
import { type RunnerRoutes, runnerRoutes } from './runners.ts';
import { type SessionRoutes, sessionRoutes } from './sessions.ts';
import { traceRequests } from './trace-requests.ts';
import { type UsageRoutes, usageRoutes } from './usage.ts';
import { type UserActionEventRoutes, userActionEventRoutes } from './user-action-events.ts';
import { pendingUserActionRoutes, type UserActionRoutes, userActionRoutes } from './user-actions.ts';
import { type UserRoutes, userRoutes } from './users.ts';
import { type WebhookRoutes, webhookRoutes } from './webhooks.ts';

export interface ServerParts
  extends SessionRoutes,
    AgentProfileRoutes,
    AuditRequests,
    CredentialRoutes,
    EgressRoutes,
    EventStreamRoutes,
    LeaseMcpRoutes,
    LeaseRoutes,
    ArtifactRoutes,
    FileRoutes,
    LiveRoutes,
    OperationsRoutes,
    PolicyRoutes,
    ProfileRoutes,
    RunnerRoutes,
    RunnerProfileRoutes,
    RunnerHibernationRoutes,
    UsageRoutes,
    UserActionEventRoutes,
    UserActionRoutes,
    UserRoutes,
    WebhookRoutes {
  log: Logger;
  /** Adds the gateway's routes; undefined: there is no gateway. */
  gateway: ((app: FastifyInstance) => Promise<void>) | undefined;
}

/** A request is sent whole in this time; the answer may take longer. */
const REQUEST_TIMEOUT_MS = 30_000;

/** Fastify gives up a close whose hooks take 10 s, and a start that this replica leads may take a minute. A pod has twice that. */
const CLOSE_MS = 120_000;

/** The controller's HTTP server: sessions, credentials, redemption and reports, health, metrics, OpenAPI. */
export async function buildServer(parts: ServerParts): Promise<FastifyInstance> {
  const app = Fastify({
    http: onlyWebSockets,
    loggerInstance: parts.log,
    // paths hold user ids; transitions are logged where they happen
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: LIMITS.bodyBytesMax,
    routerOptions: { maxParamLength: 3 * LIMITS.idBytesMax }, // an id, percent-encoded
    requestTimeout: REQUEST_TIMEOUT_MS,
    pluginTimeout: CLOSE_MS,
    frameworkErrors,
    clientErrorHandler: answerClientError,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    genReqId: () => crypto.randomUUID(),
    rewriteUrl: underRunnersName(parts.runnerNamePrefix),
  }) as unknown as FastifyInstance; // its logger is pino's, which Fastify's default type does not name
  neverSniff(app.server);
  app.setValidatorCompiler(validatorCompiler);
  app.setSerializerCompiler(serializerCompiler);
  answerProblems(app);
  traceRequests(app);
  auditRequests(app, parts);
  acceptOnlyJson(app);
  const isStopping = stopGracefully(app, parts);
  const liveViews = pipeLiveViews(app.server, parts);
  app.addHook('preClose', async () => liveViews.close());

  await app.register(swagger, openApi(controllerHead(parts.version)));
  const under = (prefix: string) => ({ ...parts, prefix });
  await app.register(leaseRoutes, under('/internal/browser-sessions'));
  await app.register(sessionRoutes, under('/internal/browser-sessions'));
  await app.register(artifactRoutes, under('/internal/browser-sessions/:session_id/artifacts'));
  await app.register(fileRoutes, under('/internal/browser-sessions/:session_id/files'));
  await app.register(liveRoutes, under('/internal/browser-sessions/:session_id'));
  await app.register(userActionRoutes, under('/internal/browser-sessions/:session_id/user-actions'));
  await app.register(pendingUserActionRoutes, under('/internal/user-actions'));
  await app.register(eventStreamRoutes, under('/internal/events'));
  await app.register(webhookRoutes, under('/internal/webhooks'));
  await app.register(usageRoutes, under('/internal/usage'));
  await app.register(userActionEventRoutes, under('/internal/user-actions'));
  await app.register(credentialRoutes, under('/internal/users/:user_id/credentials'));
  await app.register(profileRoutes, under('/internal/users/:user_id/profiles'));
  await app.register(userRoutes, under('/internal/users/:user_id'));
  await app.register(policyRoutes, under('/internal'));
  await app.register(runnerRoutes, parts);
  await app.register(runnerProfileRoutes, under('/internal/runner-profile'));
  await app.register(runnerHibernationRoutes, under('/internal/runner-hibernation'));
  await app.register(agentProfileRoutes, under('/internal/runner-profiles'));
  await app.register(egressRoutes, parts);
  await app.register(leaseMcpRoutes, parts);
  if (parts.gateway) await app.register(parts.gateway);
  operationsRoutes(app, parts, isStopping);
  await app.ready();
  return app;
}

/** Refuses new leases once the server closes, and lets those that start end first. Answers whether it closes. */
function stopGracefully(app: FastifyInstance, { getOrCreate }: ServerParts): () => boolean {
  let stopping = false;
  const endUnusedConnections = trackUnusedConnections(app.server);
  app.addHook('preClose', async () => {
    stopping = true;
    await getOrCreate.idle(); // the server still listens: runners that are being assigned redeem here
    endUnusedConnections();
  });
  app.addHook('onRequest', async request => {
    if (stopping && request.url.startsWith('/internal/browser-sessions'))
      throw new OmicronError('shutting_down', 'This replica is stopping; try again.', { retryAfterSeconds: 1 });
  });
  app.addHook('onSend', async (_request, reply) => {
    if (stopping) reply.header('connection', 'close'); // or the stop waits until callers close their connections
  });
  return () => stopping;
}

/** Nothing but JSON; a POST without a body may still say that it is JSON, as many clients do. */
function acceptOnlyJson(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'string' }, async (_request: FastifyRequest, body: string) =>
    body === '' ? undefined : parseJsonBody(body),
  );
}
