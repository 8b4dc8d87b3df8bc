import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import * as z from 'zod';
import {
  authorizeAnswer,
  authorizeRequest,
  EGRESS_ROUTES,
  egressEventReport,
  watchAnswer,
  watchRequest,
} from '../../contract/egress.ts';
import { AUDIENCES } from '../../contract/names.ts';
import { verifyServiceToken } from '../../contract/tokens.ts';
import { authorize, type EgressGrantParts } from '../lease/egress-grants.ts';
import type { EgressWatch } from '../lease/egress-watch.ts';
import { bearerOf } from './bearer.ts';
import { describeRoutes } from './describe.ts';

export interface EgressRoutes extends EgressGrantParts {
  egressKey: Uint8Array;
  egressWatch: EgressWatch;
}

/** Routes of the egress proxy: to authorize a credential, to watch its leases, and to report denials. */
export const egressRoutes: FastifyPluginAsyncZod<EgressRoutes> = async (app, parts) => {
  app.addHook('onRoute', describeRoutes('egress', 'egress proxy'));
  app.addHook('onRequest', async request => {
    await verifyServiceToken(parts.egressKey, bearerOf(request), AUDIENCES.egress);
  });

  app.post(
    EGRESS_ROUTES.authorize,
    {
      schema: {
        operationId: 'authorizeEgress',
        summary: 'The lease that a credential stands for, with its site rules',
        body: authorizeRequest,
        response: { 200: authorizeAnswer },
      },
    },
    async request => {
      const grant = await authorize(parts, request.body.runner_id, request.body.credential);
      return grant ? { state: 'granted' as const, grant } : { state: 'refused' as const };
    },
  );

  app.post(
    EGRESS_ROUTES.watch,
    {
      bodyLimit: 1024 * 1024, // 2000 leases of some 300 bytes
      schema: {
        operationId: 'watchEgressLeases',
        summary: 'Waits until one of these leases ends or its site rules change, at most wait_ms',
        body: watchRequest,
        response: { 200: watchAnswer },
      },
    },
    async request => ({ leases: await parts.egressWatch.changes(request.body.leases, request.body.wait_ms) }),
  );

  app.post(
    EGRESS_ROUTES.events,
    {
      bodyLimit: 256 * 1024,
      schema: {
        operationId: 'reportDenials',
        summary: 'Writes denials to the timelines of their sessions',
        body: egressEventReport,
        response: { 204: z.null() },
      },
    },
    async (request, reply) => {
      await parts.egressLeases.writeDenials(request.body.events);
      return reply.status(204).send(null);
    },
  );
};
