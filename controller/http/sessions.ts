import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import * as z from 'zod';
import { sessionId } from '../../contract/lease-key.ts';
import { eventPage, eventQuery, listQuery, sessionPage, sessionSchema } from '../../contract/session.ts';
import { type EndingParts, untilUnserved } from '../lease/ending.ts';
import type { Directory } from '../store/directory.ts';
import type { SessionRow } from '../store/rows.ts';
import { requireTokenUser, serviceOnly } from './bearer.ts';
import { describeRoutes } from './describe.ts';
import { sessionNotFound } from './problems.ts';
import { sessionView } from './session-view.ts';

export interface SessionRoutes extends EndingParts {
  serviceKey: Uint8Array;
  directory: Directory;
  /** Called when a lease ended: its runner is to be drained. */
  kickDrain: (sessionId?: string) => void;
}

const params = z.object({ session_id: sessionId });

/** S1, B7: sessions for the platform and its operators. */
export const sessionRoutes: FastifyPluginAsyncZod<SessionRoutes> = async (app, parts) => {
  const { directory, kickDrain } = parts;
  app.addHook('onRoute', describeRoutes('service', 'sessions'));
  app.decorateRequest('userId', null);
  app.addHook('onRequest', serviceOnly(parts.serviceKey));

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
      if (query.user_id !== undefined) requireTokenUser(request, query.user_id);
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

  app.post(
    '/:session_id/archive',
    {
      schema: {
        operationId: 'archiveSession',
        summary: 'Ends the lease and takes the session off the list; its timeline and artifacts stay',
        params,
        response: { 200: sessionSchema },
      },
    },
    async request => {
      const session = await directory.archive(request.params.session_id, request.userId);
      if (!session) throw sessionNotFound();
      kickDrain(session.id);
      await untilUnserved(parts, session.id, session.epoch);
      return sessionView(session);
    },
  );
};
