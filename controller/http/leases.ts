import type { FastifyReply } from 'fastify';
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import * as z from 'zod';
import { sessionId } from '../../contract/lease-key.ts';
import { OmicronError } from '../../contract/problem.ts';
import {
  expectedEpoch,
  getOrCreateRequest,
  type HeartbeatAnswer,
  heartbeatAnswer,
  heartbeatRequest,
  leaseAnswer,
  releaseRequest,
  sessionSchema,
} from '../../contract/session.ts';
import { type EndingParts, untilUnserved } from '../lease/ending.ts';
import type { GetOrCreate } from '../lease/get-or-create.ts';
import type { McpAccess } from '../lease/mcp-access.ts';
import type { Drains } from '../loops/drain.ts';
import type { Metrics } from '../metrics.ts';
import type { Leases, Renewed } from '../store/leases.ts';
import type { SessionRow } from '../store/rows.ts';
import { requireTokenUser, serviceOnly } from './bearer.ts';
import { describeRoutes } from './describe.ts';
import { sessionNotFound } from './problems.ts';
import { sessionView } from './session-view.ts';

export interface LeaseRoutes extends EndingParts {
  serviceKey: Uint8Array;
  leases: Leases;
  getOrCreate: GetOrCreate;
  mcpAccess: McpAccess;
  metrics: Metrics;
  /** The drain of a runner whose lease was ended here. */
  drains: Drains;
  /** Called when a lease ended: its runner is to be drained. */
  kickDrain: (sessionId?: string) => void;
}

/** Aborts when the caller closes its connection before it has its answer. */
function hungUp(reply: FastifyReply): AbortSignal {
  const left = new AbortController();
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) left.abort();
  });
  return left.signal;
}

const params = z.object({ session_id: sessionId });
// a pipe is described by its input, which says nothing yet
const endQuery = z.strictObject({
  epoch: z.coerce
    .number()
    .pipe(expectedEpoch)
    .optional()
    .meta({ ...expectedEpoch.meta() }),
});

/** O1, O2, O3: leases for the platform. */
export const leaseRoutes: FastifyPluginAsyncZod<LeaseRoutes> = async (app, parts) => {
  const { getOrCreate, leases, metrics, drains, kickDrain, mcpAccess } = parts;
  app.addHook('onRoute', describeRoutes('service', 'leases'));
  app.decorateRequest('userId', null);
  app.addHook('onRequest', serviceOnly(parts.serviceKey));

  app.post(
    '/get-or-create',
    {
      schema: {
        operationId: 'getOrCreateSession',
        summary: 'Leases the browser of one conversation: renews its lease or starts a new one',
        body: getOrCreateRequest,
        response: { 200: leaseAnswer, 202: leaseAnswer },
      },
    },
    async (request, reply) => {
      requireTokenUser(request, request.body.user_id);
      const beganMs = performance.now();
      let outcome = 'failed';
      try {
        const lease = await getOrCreate.run(request.body, hungUp(reply));
        outcome = lease.status;
        if (lease.status === 'starting') reply.status(202).header('retry-after', '1');
        return lease;
      } catch (error) {
        if (error instanceof OmicronError) outcome = error.code;
        throw error;
      } finally {
        metrics.acquired((performance.now() - beganMs) / 1000, outcome);
      }
    },
  );

  app.post(
    '/:session_id/heartbeat',
    {
      schema: {
        operationId: 'heartbeatSession',
        summary: 'Keeps the lease alive for another ttl_seconds',
        params,
        body: heartbeatRequest.nullish(), // Fastify validates a missing body as null
        response: { 200: heartbeatAnswer },
      },
    },
    async request => {
      const epoch = request.body?.epoch ?? null;
      return answerHeartbeat(await leases.heartbeat(request.params.session_id, request.userId, epoch), mcpAccess);
    },
  );

  app.post(
    '/:session_id/release',
    {
      schema: {
        operationId: 'releaseSession',
        summary:
          'Lets the lease go without ending it: it idles out, and gives way to another lease of its user meanwhile',
        params,
        body: releaseRequest.nullish(), // Fastify validates a missing body as null
        response: { 200: sessionSchema },
      },
    },
    async request => {
      const released = await leases.release(request.params.session_id, request.userId, request.body?.epoch ?? null);
      if (released.outcome === 'not_found') throw sessionNotFound();
      if (released.outcome === 'superseded') throw leaseSuperseded(released.session);
      if (released.outcome === 'ended') throw leaseHasEnded(released.session);
      return sessionView(released.session);
    },
  );

  app.delete(
    '/:session_id',
    {
      schema: {
        operationId: 'endSession',
        summary: 'Ends the lease: once answered, no agent is served; repeating it changes nothing',
        params,
        querystring: endQuery,
        response: { 200: sessionSchema },
      },
    },
    async request => {
      const { epoch = null } = request.query;
      const { session_id } = request.params;
      const ended = await leases.end(session_id, request.userId, epoch, 'released', drains.seconds());
      if (ended.outcome === 'not_found') throw sessionNotFound();
      if (ended.outcome === 'superseded') throw leaseSuperseded(ended.session);
      const { session, runner, served } = ended;
      if (runner === null) kickDrain(session.id);
      else {
        drains.lead(runner);
        parts.waits.changed(session.id);
      }
      await untilUnserved(parts, session.id, epoch ?? session.epoch, served);
      return sessionView(session);
    },
  );
};

/** The answer to a heartbeat. Throws when there is no lease to keep alive. */
function answerHeartbeat(renewed: Renewed, mcpAccess: McpAccess): HeartbeatAnswer {
  if (renewed.outcome === 'not_found') throw sessionNotFound();
  const { session } = renewed;
  if (renewed.outcome === 'superseded') throw leaseSuperseded(session);
  if (renewed.outcome === 'ended' || session.status === 'ended' || session.status === 'error')
    throw leaseHasEnded(session);
  return {
    mcp_headers: mcpAccess.headersOf(session),
    session_id: session.id,
    status: session.status,
    epoch: session.epoch,
    expires_at: session.expires_at.toISOString(),
    ends_at: session.ends_at.toISOString(),
    last_used_at: session.last_used_at.toISOString(),
  };
}

function leaseHasEnded({ id, ended_reason }: SessionRow): OmicronError {
  const detail = `The lease has ended (${ended_reason ?? 'expired'}); request a new one.`;
  return new OmicronError('lease_ended', detail, { session_id: id });
}

function leaseSuperseded({ id, epoch }: SessionRow): OmicronError {
  return new OmicronError('lease_superseded', `The session is at epoch ${epoch}; get its lease again.`, {
    session_id: id,
  });
}
