import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import * as z from 'zod';
import { AUDIENCES } from '../../contract/names.ts';
import { activityAnswer, activityReport, artifactReport, eventReport } from '../../contract/reports.ts';
import type { ControllerKeys } from '../../contract/tokens.ts';
import type { Metrics } from '../metrics.ts';
import type { Broker } from '../store/broker.ts';
import { leaseOf, leaseOnly } from './bearer.ts';
import { tokenLeaseEnded } from './live-session.ts';

export interface RunnerReportRoutes {
  publicKeys: ControllerKeys;
  broker: Broker;
  metrics: Metrics;
}

/** The reports of runners and their uploaders: calls, lines of the timeline, artifacts. */
export const runnerReportRoutes: FastifyPluginAsyncZod<RunnerReportRoutes> = async (
  app,
  { publicKeys, broker, metrics },
) => {
  app.post(
    '/internal/runner-activity',
    {
      ...leaseOnly(publicKeys, AUDIENCES.lease),
      schema: {
        operationId: 'reportActivity',
        summary: 'Reports calls and answers how long the lease lives',
        body: activityReport,
        response: { 200: activityAnswer },
      },
    },
    async request => {
      const { claims } = leaseOf(request);
      const going = await broker.reportActivity(claims, request.body.calls);
      if (going === null) throw tokenLeaseEnded();
      return { remaining_ms: going.remainingMs, policy_version: going.policyVersion, held_ms: going.heldMs };
    },
  );

  app.post(
    '/internal/runner-events',
    {
      ...leaseOnly(publicKeys, AUDIENCES.lease, AUDIENCES.artifacts),
      schema: {
        operationId: 'reportEvents',
        summary: "Writes to the lease's timeline",
        body: eventReport,
        response: { 204: z.null() },
      },
    },
    async (request, reply) => {
      const { claims } = leaseOf(request);
      const { events, first_page_ms: firstPageMs } = request.body;
      if (!(await broker.writeEvents(claims, events))) throw tokenLeaseEnded();
      if (firstPageMs !== undefined) metrics.firstPage(firstPageMs / 1_000);
      return reply.status(204).send(null);
    },
  );

  app.post(
    '/internal/runner-artifacts',
    {
      ...leaseOnly(publicKeys, AUDIENCES.artifacts),
      schema: {
        operationId: 'reportArtifact',
        summary: 'Records an artifact that was stored, or lost',
        body: artifactReport,
        response: { 204: z.null() },
      },
    },
    async (request, reply) => {
      const { claims, expMs } = leaseOf(request);
      if (expMs < Date.now() || !(await broker.writeArtifact(claims, request.body))) throw tokenLeaseEnded();
      return reply.status(204).send(null);
    },
  );
};
