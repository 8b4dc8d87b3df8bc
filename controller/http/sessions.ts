import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import * as z from 'zod';
import { epoch } from '../../contract/lease-key.ts';
import { OmicronError } from '../../contract/problem.ts';
import {
  artifactList,
  eventPage,
  eventQuery,
  getOrCreateRequest,
  heartbeatAnswer,
  heartbeatRequest,
  leaseAnswer,
  listQuery,
  sessionPage,
  sessionSchema,
} from '../../contract/session.ts';
import type { GetOrCreate } from '../lease/get-or-create.ts';
import type { Metrics } from '../metrics.ts';
import type { Directory } from '../store/directory.ts';
import type { Leases } from '../store/leases.ts';
import type { SessionRow } from '../store/rows.ts';
import { mayActFor, serviceOnly } from './bearer.ts';
import { describeRoutes } from './describe.ts';
import { sessionNotFound } from './problems.ts';
import { sessionView } from './session-view.ts';

export interface SessionRoutes {
  serviceKey: Uint8Array;
  getOrCreate: GetOrCreate;
  leases: Leases;
  directory: Directory;
  metrics: Metrics;
  /** Called when a lease ended: its runner is to be drained. */
  kickDrain: () => void;
}

const params = z.object({ session_id: z.uuid() });

function superseded(session: SessionRow): OmicronError {
  return new OmicronError('lease_superseded', `The session is at epoch ${session.epoch}; ask for its lease again.`, {
    session_id: session.id,
  });
}

/** O1, O2, O3, S1, B7: leases for the API. */
export const sessionRoutes: FastifyPluginAsyncZod<SessionRoutes> = async (app, parts) => {
  const { getOrCreate, leases, directory, metrics, kickDrain } = parts;
  app.addHook('onRoute', describeRoutes('service'));
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
      mayActFor(request, request.body.user_id);
      const beganMs = performance.now();
      let outcome = 'failed';
      try {
        const lease = await getOrCreate.run(request.body);
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
      const renewed = await leases.heartbeat(request.params.session_id, request.userId, request.body?.epoch ?? null);
      if (renewed.outcome === 'not_found') throw sessionNotFound();
      const { session } = renewed;
      if (renewed.outcome === 'superseded') throw superseded(session);
      if (renewed.outcome === 'ended' || session.status === 'ended' || session.status === 'error')
        throw new OmicronError(
          'lease_ended',
          `The lease has ended (${session.ended_reason ?? 'expired'}); ask for a new one.`,
          {
            session_id: session.id,
          },
        );
      return {
        session_id: session.id,
        status: session.status,
        epoch: session.epoch,
        expires_at: session.expires_at.toISOString(),
        ends_at: session.ends_at.toISOString(),
        last_used_at: session.last_used_at.toISOString(),
      };
    },
  );

  app.delete(
    '/:session_id',
    {
      schema: {
        operationId: 'endSession',
        summary: 'Ends the lease; repeating it changes nothing',
        params,
        querystring: z.strictObject({ epoch: z.coerce.number().pipe(epoch).optional() }),
        response: { 200: sessionSchema },
      },
    },
    async request => {
      const ended = await leases.end(
        request.params.session_id,
        request.userId,
        request.query.epoch ?? null,
        'released',
      );
      if (ended.outcome === 'not_found') throw sessionNotFound();
      if (ended.outcome === 'superseded') throw superseded(ended.session);
      kickDrain();
      return sessionView(ended.session);
    },
  );

  app.get(
    '',
    {
      schema: {
        operationId: 'listSessions',
        summary: 'Sessions, newest first, by user, status and tags',
        querystring: listQuery,
        response: { 200: sessionPage },
      },
    },
    async request => {
      const { query } = request;
      if (query.user_id !== undefined) mayActFor(request, query.user_id);
      const page = await directory.list({ ...query, user_id: request.userId ?? query.user_id });
      return { sessions: page.sessions.map(sessionView), next_cursor: page.nextCursor };
    },
  );

  const found = async (sessionId: string, userId: string | null): Promise<SessionRow> => {
    const session = await directory.session(sessionId, userId);
    if (!session) throw sessionNotFound();
    return session;
  };

  app.get(
    '/:session_id',
    {
      schema: {
        operationId: 'showSession',
        summary: 'One session',
        params,
        response: { 200: sessionSchema },
      },
    },
    async request => sessionView(await found(request.params.session_id, request.userId)),
  );

  app.get(
    '/:session_id/events',
    {
      schema: {
        operationId: 'listSessionEvents',
        summary: "The session's timeline, oldest first",
        params,
        querystring: eventQuery,
        response: { 200: eventPage },
      },
    },
    async request => {
      const session = await found(request.params.session_id, request.userId);
      return directory.events(session.id, request.query);
    },
  );

  app.get(
    '/:session_id/artifacts',
    {
      schema: {
        operationId: 'listSessionArtifacts',
        summary: "The session's recordings: stored, or lost with the reason",
        params,
        response: { 200: artifactList },
      },
    },
    async request => {
      const session = await found(request.params.session_id, request.userId);
      return { artifacts: await directory.artifacts(session.id) };
    },
  );

  app.post(
    '/:session_id/archive',
    {
      schema: {
        operationId: 'archiveSession',
        summary: 'Ends the lease and takes the session off the list; its timeline and recordings stay',
        params,
        response: { 200: sessionSchema },
      },
    },
    async request => {
      const session = await directory.archive(request.params.session_id, request.userId);
      if (!session) throw sessionNotFound();
      kickDrain();
      return sessionView(session);
    },
  );
};
