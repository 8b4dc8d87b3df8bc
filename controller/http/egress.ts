import { timingSafeEqual } from 'node:crypto';
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import * as z from 'zod';
import {
  authorizeAnswer,
  authorizeRequest,
  EGRESS_ROUTES,
  type EgressGrant,
  egressEventReport,
  type WatchAnswer,
  type WatchRequest,
  watchAnswer,
  watchRequest,
} from '../../contract/egress.ts';
import { AUDIENCES } from '../../contract/names.ts';
import { egressCredential, verifyServiceToken } from '../../contract/tokens.ts';
import type { Changes } from '../lease/changes.ts';
import type { EgressDesk, LiveLease } from '../ports/egress.ts';
import { bearerOf } from './bearer.ts';
import { problems } from './problems.ts';

export interface EgressRoutes {
  egressKey: Uint8Array;
  derivation: Uint8Array;
  desk: EgressDesk;
  changes: Changes;
}

const security = [{ egress: [] }];

const grantOf = (lease: LiveLease): EgressGrant => ({
  session_id: lease.session_id,
  epoch: lease.epoch,
  runner_id: lease.runner_id,
  version: lease.version,
  remaining_ms: Math.max(0, lease.remainingMs),
  layers: lease.layers.map(({ layer, policy }) => ({ layer, sites: policy.sites })),
});

const same = (a: string, b: string): boolean => {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
};

/** What the egress proxy asks: whose credential this is, what changed since, and where to write what it denied. */
export const egressRoutes: FastifyPluginAsyncZod<EgressRoutes> = async (
  app,
  { egressKey, derivation, desk, changes },
) => {
  app.addHook('onRequest', async request => {
    await verifyServiceToken(egressKey, bearerOf(request), AUDIENCES.egress);
  });

  app.post(
    EGRESS_ROUTES.authorize,
    {
      schema: {
        operationId: 'authorizeEgress',
        summary: 'Whose traffic carries this credential, and the site rules of its lease',
        security,
        body: authorizeRequest,
        response: { 200: authorizeAnswer, ...problems },
      },
    },
    async request => {
      const lease = await desk.live(request.body.runner_id);
      if (!lease || !same(egressCredential(derivation, lease), request.body.credential))
        return { state: 'refused' as const };
      return { state: 'granted' as const, grant: grantOf(lease) };
    },
  );

  const compare = (asked: WatchRequest['leases'], live: (LiveLease | null)[]): WatchAnswer['leases'] =>
    asked.map((known, place) => {
      const lease = live[place];
      if (!lease || lease.session_id !== known.session_id || lease.epoch !== known.epoch)
        return { state: 'ended', runner_id: known.runner_id };
      if (lease.version !== known.version)
        return { state: 'changed', runner_id: known.runner_id, grant: grantOf(lease) };
      return { state: 'unchanged', runner_id: known.runner_id, remaining_ms: Math.max(0, lease.remainingMs) };
    });

  app.post(
    EGRESS_ROUTES.watch,
    {
      bodyLimit: 1024 * 1024, // 2000 leases of some 300 bytes
      schema: {
        operationId: 'watchEgressLeases',
        summary: 'Answers when one of these leases ended or its site rules changed, or when the wait is over',
        security,
        body: watchRequest,
        response: { 200: watchAnswer, ...problems },
      },
    },
    async request => {
      const { leases, wait_ms } = request.body;
      const runnerIds = leases.map(lease => lease.runner_id);
      const seen = await changes.until(
        async () => compare(leases, await desk.liveOf(runnerIds)),
        lines => lines.some(line => line.state !== 'unchanged'),
        wait_ms,
      );
      return { leases: seen };
    },
  );

  app.post(
    EGRESS_ROUTES.events,
    {
      bodyLimit: 256 * 1024,
      schema: {
        operationId: 'reportDenials',
        summary: 'Writes denials to the timelines of their sessions',
        security,
        body: egressEventReport,
        response: { 204: z.null(), ...problems },
      },
    },
    async (request, reply) => {
      await desk.denials(request.body.events);
      return reply.status(204).send(null);
    },
  );
};
