import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import * as z from 'zod';
import { redeemAnswer, redemptionClaims, totpAnswer, totpRequest } from '../../contract/assignment.ts';
import { AUDIENCES } from '../../contract/names.ts';
import { effectivePolicy } from '../../contract/policy/document.ts';
import { type ControllerKeys, verifyControllerToken } from '../../contract/tokens.ts';
import { type RedeemParts, redeemLease } from '../lease/redeem.ts';
import { totpOfSite } from '../lease/totp.ts';
import type { Directory } from '../store/directory.ts';
import type { Policies } from '../store/policies.ts';
import { bearerOf, leaseOnly } from './bearer.ts';
import { liveSessionOf } from './live-session.ts';

export interface RunnerGrantRoutes extends RedeemParts {
  publicKeys: ControllerKeys;
  directory: Directory;
  policies: Policies;
}

/** Grants of a lease to its runner: the secrets once (O4), the policy, TOTP codes. */
export const runnerGrantRoutes: FastifyPluginAsyncZod<RunnerGrantRoutes> = async (app, parts) => {
  const { publicKeys, policies, secrets } = parts;
  const liveSession = liveSessionOf(parts);

  app.post(
    '/internal/runner-secrets',
    {
      schema: {
        operationId: 'redeemSecrets',
        summary: 'Hands the secrets of one lease to its runner, once; again with the same idempotency key',
        headers: z.object({
          'idempotency-key': z
            .uuid()
            .optional()
            .describe('Key of the redemption: repeated with it, it gets the same answer.'),
        }),
        response: { 200: redeemAnswer },
      },
    },
    async request => {
      const token = bearerOf(request);
      const { claims, expMs } = await verifyControllerToken(publicKeys, AUDIENCES.broker, token, redemptionClaims);
      const answer = await redeemLease(parts, claims, expMs, request.headers['idempotency-key']);
      const { session_id, epoch, runner_id } = claims;
      request.log.info({ session_id, epoch, runner_id }, 'secrets redeemed');
      return answer;
    },
  );

  app.get(
    '/internal/runner-policy',
    {
      ...leaseOnly(publicKeys, AUDIENCES.lease),
      schema: {
        operationId: 'readLeasePolicy',
        summary: 'The current effective policy of the lease',
        response: { 200: effectivePolicy },
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
        summary: "The current TOTP code for one of the user's sites; the seed stays here",
        body: totpRequest,
        response: { 200: totpAnswer },
      },
    },
    async request => {
      const session = await liveSession(request);
      const { site } = request.body;
      const answer = totpOfSite(await secrets.read(session.user_id), site, Date.now());
      request.log.info({ session_id: session.id, epoch: session.epoch, site }, 'TOTP code minted');
      return answer;
    },
  );
};
