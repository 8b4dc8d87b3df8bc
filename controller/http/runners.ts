import type { FastifyRequest } from 'fastify';
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import * as z from 'zod';
import { redeemAnswer, redemptionClaims, totpAnswer, totpRequest } from '../../contract/assignment.ts';
import { CHAT_VIEWER } from '../../contract/live.ts';
import { liveSocketAnswer } from '../../contract/live-exchange.ts';
import { LIVE_PROTOCOL, liveTokenProtocol } from '../../contract/live-limits.ts';
import { AUDIENCES } from '../../contract/names.ts';
import { effectivePolicy } from '../../contract/policy/document.ts';
import { OmicronError } from '../../contract/problem.ts';
import { activityAnswer, activityReport, artifactReport, eventReport } from '../../contract/reports.ts';
import { type ControllerKeys, verifyControllerToken } from '../../contract/tokens.ts';
import { askedUserAction, userAction, userActionAnswer, userActionRequest } from '../../contract/user-action.ts';
import type { ChangeSignal } from '../lease/changes.ts';
import { liveRunner } from '../lease/live-runner.ts';
import { createLiveToken } from '../lease/live-tokens.ts';
import { type RedeemParts, redeemLease } from '../lease/redeem.ts';
import { totpOfSite } from '../lease/totp.ts';
import type { Directory } from '../store/directory.ts';
import type { Policies } from '../store/policies.ts';
import type { SessionRow } from '../store/rows.ts';
import type { UserActions } from '../store/user-actions.ts';
import { bearerOf, leaseOf, leaseOnly } from './bearer.ts';
import { describeRoutes } from './describe.ts';
import { userActionNotFound } from './problems.ts';

export interface RunnerRoutes extends RedeemParts {
  publicKeys: ControllerKeys;
  directory: Directory;
  policies: Policies;
  userActions: UserActions;
  changes: ChangeSignal;
  /** Address of the console for people. */
  consoleUrl: string | undefined;
  /** Address at which pages in a chat open sockets of live views (`ws:`, `wss:`), `/live` of this service; undefined: nowhere. */
  liveUrl: string | undefined;
}

/** Routes of runners and their uploaders: the redemption (O4) and the reports. */
export const runnerRoutes: FastifyPluginAsyncZod<RunnerRoutes> = async (app, parts) => {
  const { publicKeys, broker, directory, policies, secrets, userActions, changes, consoleUrl, keys, liveUrl } = parts;
  app.addHook('onRoute', describeRoutes('runner', 'runners'));
  app.decorateRequest('lease', null);

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
      if (going === null) throw leaseEnded();
      return { remaining_ms: going.remainingMs, policy_version: going.policyVersion, held_ms: going.heldMs };
    },
  );

  /** The session of a request's lease, while that lease lives. */
  const liveSession = async (request: FastifyRequest): Promise<SessionRow> => {
    const { claims } = leaseOf(request);
    const session = await directory.session(claims.session_id, null);
    if ((await broker.reportActivity(claims, 0)) === null || !session) throw leaseEnded();
    return session;
  };

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

  // A10: an agent asks, its runner waits here, the user answers.
  app.post(
    '/internal/runner-user-actions',
    {
      ...leaseOnly(publicKeys, AUDIENCES.lease),
      schema: {
        operationId: 'askUser',
        summary: 'Asks the user of a lease to do something, and waits for the answer',
        body: userActionRequest,
        response: { 200: askedUserAction },
      },
    },
    async request => {
      const { claims } = leaseOf(request);
      const { id, reason, timeout_seconds, wait_ms } = request.body;
      const asked = await userActions.ask(claims, id, reason, timeout_seconds);
      if (!asked) throw leaseEnded();
      changes.kick();
      const answered = await changes.until(
        () => userActions.find(claims.session_id, id),
        seen => seen?.status !== 'pending',
        wait_ms,
      );
      const url = consoleUrl && new URL(`/sessions/${claims.session_id}`, consoleUrl).href;
      return { ...(answered ?? asked), url };
    },
  );

  app.post(
    '/internal/runner-user-actions/:action_id',
    {
      ...leaseOnly(publicKeys, AUDIENCES.lease),
      schema: {
        operationId: 'answerUserInChat',
        summary: 'Answers one user action of the lease for the person in its chat; the first answer counts',
        params: z.object({ action_id: z.uuid().describe('Id of the user action.') }),
        body: userActionAnswer,
        response: { 200: userAction },
      },
    },
    async request => {
      const session = await liveSession(request);
      const { status, note } = request.body;
      const action = await userActions.answer(session.id, request.params.action_id, status, note ?? null);
      if (!action) throw userActionNotFound();
      changes.kick();
      return action;
    },
  );

  // M3: the page in the chat, whose host has no other way to the person's right to watch than the lease's own.
  app.post(
    '/internal/runner-live-socket',
    {
      ...leaseOnly(publicKeys, AUDIENCES.lease),
      schema: {
        operationId: 'openLiveSocket',
        summary:
          'Address at which the page in the chat of a lease may open one socket of its live view, within a minute',
        response: { 200: liveSocketAnswer },
      },
    },
    async request => {
      const session = await liveSession(request);
      if (liveUrl === undefined) return { socket: null };
      const { token } = createLiveToken(keys, await liveRunner(directory, session.id, null), CHAT_VIEWER);
      return { socket: { url: `${liveUrl}/${session.id}`, protocols: [LIVE_PROTOCOL, liveTokenProtocol(token)] } };
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
      if (!(await broker.writeEvents(claims, request.body.events))) throw leaseEnded();
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
      if (expMs < Date.now() || !(await broker.writeArtifact(claims, request.body))) throw leaseEnded();
      return reply.status(204).send(null);
    },
  );
};

const leaseEnded = () => new OmicronError('lease_ended', 'The lease of this token has ended; stop serving it.');
