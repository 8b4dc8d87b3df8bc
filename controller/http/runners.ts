import type { FastifyRequest } from 'fastify';
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import * as z from 'zod';
import { redeemAnswer } from '../../contract/assignment.ts';
import { AUDIENCES } from '../../contract/names.ts';
import { OmicronError } from '../../contract/problem.ts';
import { activityAnswer, activityReport, artifactReport, eventReport } from '../../contract/reports.ts';
import { secretsOf } from '../../contract/secrets.ts';
import {
  brokerClaims,
  type ControllerKeys,
  type LeaseClaims,
  leaseClaims,
  verifyControllerToken,
} from '../../contract/tokens.ts';
import { type Keys, reportTokens } from '../lease/orders.ts';
import type { Broker } from '../ports/broker.ts';
import type { Directory } from '../ports/directory.ts';
import type { SecretStore } from '../ports/secrets.ts';
import { bearerOf } from './bearer.ts';
import { problems } from './problems.ts';

const security = [{ runner: [] }];
const PREDECESSOR_RETRY_SECONDS = 1;

declare module 'fastify' {
  interface FastifyRequest {
    /** Whose lease the runner's token speaks for; null on routes that take no such token. */
    lease: { claims: LeaseClaims; expMs: number } | null;
  }
}

/** A hook that lets only tokens of these audiences in, before a body is read. */
const leaseOnly = (keys: ControllerKeys, ...audience: string[]) => ({
  onRequest: async (request: FastifyRequest) => {
    request.lease = await verifyControllerToken(keys, audience, bearerOf(request), leaseClaims);
  },
});

function leaseOf(request: FastifyRequest): { claims: LeaseClaims; expMs: number } {
  if (!request.lease) throw new Error(`${request.url} has no hook that reads its token`);
  return request.lease;
}

const leaseOver = () => new OmicronError('lease_ended', 'The lease of this token is over; stop serving it.');

/** What runners and their uploaders call: the broker (O4) and the reports. */
export const runnerRoutes: FastifyPluginAsyncZod<{
  publicKeys: ControllerKeys;
  keys: Keys;
  broker: Broker;
  directory: Directory;
  secrets: SecretStore;
}> = async (app, { publicKeys, keys, broker, directory, secrets }) => {
  app.decorateRequest('lease', null);

  app.post(
    '/internal/runner-secrets',
    {
      schema: {
        operationId: 'redeemSecrets',
        summary: 'Hands the secrets of one lease to its runner, once',
        security,
        response: { 200: redeemAnswer, ...problems },
      },
    },
    async request => {
      const { claims, expMs } = await verifyControllerToken(
        publicKeys,
        AUDIENCES.broker,
        bearerOf(request),
        brokerClaims,
      );
      // Read before the redemption, which succeeds once: a vault that is away for a moment must not cost the runner.
      const session = await directory.session(claims.session_id, null);
      const document = session?.claim_id === claims.claim_id ? await secrets.read(session.user_id) : null;
      const known = document ? secretsOf(document) : {};
      const redeemed = await broker.redeem(claims, expMs);
      if (redeemed.outcome === 'wait')
        throw new OmicronError('predecessor_draining', 'The runner before may still act; ask again.', {
          retryAfterSeconds: PREDECESSOR_RETRY_SECONDS,
        });
      if (redeemed.outcome === 'refused')
        throw new OmicronError('redemption_refused', `The lease cannot be redeemed: ${redeemed.why}.`);
      request.log.info(
        { session_id: claims.session_id, epoch: claims.epoch, runner_id: claims.runner_id },
        'secrets were redeemed',
      );
      return {
        secrets: known,
        ...(await reportTokens(keys, leaseClaims.parse(claims), redeemed)),
        remaining_ms: redeemed.remainingMs,
      };
    },
  );

  app.post(
    '/internal/runner-activity',
    {
      ...leaseOnly(publicKeys, AUDIENCES.lease),
      schema: {
        operationId: 'reportActivity',
        summary: 'Reports calls and answers how long the lease goes on',
        security,
        body: activityReport,
        response: { 200: activityAnswer, ...problems },
      },
    },
    async request => {
      const { claims } = leaseOf(request);
      const remaining = await broker.activity(claims, request.body.calls);
      if (remaining === null) throw leaseOver();
      return { remaining_ms: remaining };
    },
  );

  app.post(
    '/internal/runner-events',
    {
      ...leaseOnly(publicKeys, AUDIENCES.lease, AUDIENCES.artifacts),
      schema: {
        operationId: 'reportEvents',
        summary: "Writes to the lease's timeline",
        security,
        body: eventReport,
        response: { 204: z.null(), ...problems },
      },
    },
    async (request, reply) => {
      const { claims } = leaseOf(request);
      if (!(await broker.events(claims, request.body.events))) throw leaseOver();
      return reply.status(204).send(null);
    },
  );

  app.post(
    '/internal/runner-artifacts',
    {
      ...leaseOnly(publicKeys, AUDIENCES.artifacts),
      schema: {
        operationId: 'reportArtifact',
        summary: 'Writes down a recording that was stored, or lost',
        security,
        body: artifactReport,
        response: { 204: z.null(), ...problems },
      },
    },
    async (request, reply) => {
      const { claims, expMs } = leaseOf(request);
      if (expMs < Date.now()) throw leaseOver();
      if (!(await broker.artifact(claims, request.body))) throw leaseOver();
      return reply.status(204).send(null);
    },
  );
};
