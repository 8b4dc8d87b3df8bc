import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import * as z from 'zod';
import { hibernationRequest, sessionSnapshot } from '../../contract/hibernation.ts';
import { AUDIENCES } from '../../contract/names.ts';
import type { ControllerKeys } from '../../contract/tokens.ts';
import { requireProfiles } from '../profiles/profile-keeper.ts';
import type { Snapshots } from '../profiles/snapshots.ts';
import { leaseOf, leaseOnly } from './bearer.ts';
import { describeRoutes } from './describe.ts';
import { STATE_BODY_BYTES_MAX } from './profile-content.ts';

export interface RunnerHibernationRoutes {
  publicKeys: ControllerKeys;
  /** Null: this deployment keeps no profiles. */
  snapshots: Snapshots | null;
  /** A lease has ended: its runner is drained. */
  kickDrain: (sessionId?: string) => void;
}

/** A session's snapshot, for its runners: brought by the one that is given back, read by the one that restores it. */
export const runnerHibernationRoutes: FastifyPluginAsyncZod<RunnerHibernationRoutes> = async (app, parts) => {
  app.addHook('onRoute', describeRoutes('runner', 'runners'));
  const ofLease = leaseOnly(parts.publicKeys, AUDIENCES.lease);
  const snapshots = () => requireProfiles(parts.snapshots);

  app.get(
    '',
    {
      ...ofLease,
      schema: {
        operationId: 'readSnapshot',
        summary: 'The state with which the browser of a hibernated session starts',
        response: { 200: sessionSnapshot },
      },
    },
    async request => snapshots().ofStart(leaseOf(request).claims),
  );

  app.put(
    '',
    {
      ...ofLease,
      bodyLimit: STATE_BODY_BYTES_MAX,
      schema: {
        operationId: 'hibernateSession',
        summary: 'Keeps what the browser of a lease holds, and gives its runner back, in one step',
        body: hibernationRequest,
        response: { 204: z.null() },
      },
    },
    async (request, reply) => {
      const { claims } = leaseOf(request);
      await snapshots().keep(claims, request.body);
      parts.kickDrain(claims.session_id);
      return reply.status(204).send(null);
    },
  );
};
