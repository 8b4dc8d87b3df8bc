import type { FastifyRequest } from 'fastify';
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import * as z from 'zod';
import { redeemAnswer, totpAnswer, totpRequest } from '../../contract/assignment.ts';
import { leaseKey } from '../../contract/lease-key.ts';
import { AUDIENCES } from '../../contract/names.ts';
import { effectivePolicy } from '../../contract/policy/document.ts';
import { OmicronError } from '../../contract/problem.ts';
import { activityAnswer, activityReport, artifactReport, eventReport } from '../../contract/reports.ts';
import { secretsOf } from '../../contract/secrets.ts';
import {
  brokerClaims,
  type ControllerKeys,
  egressCredential,
  uploadCredential,
  verifyControllerToken,
} from '../../contract/tokens.ts';
import { type Keys, reportTokens } from '../lease/assignment-tokens.ts';
import { totpCode } from '../lease/totp.ts';
import type { SecretStore } from '../ports/secrets.ts';
import type { Broker } from '../store/broker.ts';
import type { Directory } from '../store/directory.ts';
import type { Policies } from '../store/policies.ts';
import type { SessionRow } from '../store/rows.ts';
import { bearerOf, leaseOf, leaseOnly } from './bearer.ts';
import { problems } from './problems.ts';

const security = [{ runner: [] }];
const PREDECESSOR_RETRY_SECONDS = 1;

const leaseOver = () => new OmicronError('lease_ended', 'The lease of this token is over; stop serving it.');

const refused = (why: string) => new OmicronError('redemption_refused', `The lease cannot be redeemed: ${why}.`);

/** What runners and their uploaders call: the broker (O4) and the reports. */
export const runnerRoutes: FastifyPluginAsyncZod<{
  publicKeys: ControllerKeys;
  keys: Keys;
  broker: Broker;
  directory: Directory;
  policies: Policies;
  secrets: SecretStore;
}> = async (app, { publicKeys, keys, broker, directory, policies, secrets }) => {
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
      // Read before the redemption, which succeeds once: a store that is away for a moment must not cost the runner.
      const document = await secrets.read(claims.user_id);
      const known = document ? secretsOf(document) : {};
      const redeemed = await broker.redeem(claims, expMs);
      if (redeemed.outcome === 'wait')
        throw new OmicronError('predecessor_draining', 'The runner before may still act; ask again.', {
          retryAfterSeconds: PREDECESSOR_RETRY_SECONDS,
        });
      if (redeemed.outcome === 'refused') throw refused(redeemed.why);
      if (redeemed.userId !== claims.user_id) throw refused('other user');
      request.log.info(
        { session_id: claims.session_id, epoch: claims.epoch, runner_id: claims.runner_id },
        'secrets were redeemed',
      );
      const lease = leaseKey.parse(claims);
      return {
        secrets: known,
        sites: Object.entries(document?.credentials ?? {}).map(([site, { totp }]) => ({
          site,
          totp: totp !== undefined,
        })),
        egress_credential: egressCredential(keys.derivation, lease),
        upload_credential: uploadCredential(keys.derivation, lease),
        policy: redeemed.policy,
        ...(await reportTokens(keys, lease, redeemed)),
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
      const going = await broker.reportActivity(claims, request.body.calls);
      if (going === null) throw leaseOver();
      return { remaining_ms: going.remainingMs, policy_version: going.policyVersion };
    },
  );

  /** The session of a request's lease, while that lease lives. */
  const liveSession = async (request: FastifyRequest): Promise<SessionRow> => {
    const { claims } = leaseOf(request);
    const session = await directory.session(claims.session_id, null);
    if ((await broker.reportActivity(claims, 0)) === null || !session) throw leaseOver();
    return session;
  };

  app.get(
    '/internal/runner-policy',
    {
      ...leaseOnly(publicKeys, AUDIENCES.lease),
      schema: {
        operationId: 'readLeasePolicy',
        summary: 'The policy of the lease, every layer of it, as it is now',
        security,
        response: { 200: effectivePolicy, ...problems },
      },
    },
    async request => {
      const session = await liveSession(request);
      return policies.of(session.id, session.user_id);
    },
  );

  app.post(
    '/internal/runner-totp',
    {
      ...leaseOnly(publicKeys, AUDIENCES.lease),
      schema: {
        operationId: 'mintTotpCode',
        summary: "The TOTP code of the moment for one of the user's sites; the seed stays here",
        security,
        body: totpRequest,
        response: { 200: totpAnswer, ...problems },
      },
    },
    async request => {
      const session = await liveSession(request);
      const { site } = request.body;
      const document = await secrets.read(session.user_id);
      const credential = document && Object.hasOwn(document.credentials, site) ? document.credentials[site] : undefined;
      if (credential?.totp === undefined)
        throw new OmicronError('credential_not_found', `The user has stored no TOTP seed for "${site}".`);
      request.log.info({ session_id: session.id, epoch: session.epoch, site }, 'a TOTP code was minted');
      return totpCode(credential.totp, Date.now());
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
      if (!(await broker.writeEvents(claims, request.body.events))) throw leaseOver();
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
      if (!(await broker.writeArtifact(claims, request.body))) throw leaseOver();
      return reply.status(204).send(null);
    },
  );
};
