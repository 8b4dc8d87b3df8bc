import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import * as z from 'zod';
import { CHAT_VIEWER, identityOf } from '../../contract/live.ts';
import { liveSocketAnswer } from '../../contract/live-exchange.ts';
import { LIVE_PROTOCOL, liveTokenProtocol } from '../../contract/live-limits.ts';
import { AUDIENCES } from '../../contract/names.ts';
import {
  askedUserAction,
  credentialQuestion,
  userAction,
  userActionChatAnswer,
  userActionRequest,
} from '../../contract/user-action.ts';
import { liveRunner } from '../lease/live-runner.ts';
import { createLiveToken } from '../lease/live-tokens.ts';
import { type Waits, waitKey } from '../lease/waits.ts';
import type { UserActions } from '../store/user-actions.ts';
import { leaseOf, leaseOnly } from './bearer.ts';
import { describeRoutes } from './describe.ts';
import { liveSessionOf, tokenLeaseEnded } from './live-session.ts';
import { userActionNotFound } from './problems.ts';
import { type RunnerGrantRoutes, runnerGrantRoutes } from './runner-grants.ts';
import { type RunnerReportRoutes, runnerReportRoutes } from './runner-reports.ts';
import { runnerTraceRoutes } from './runner-traces.ts';

export interface RunnerRoutes extends RunnerGrantRoutes, RunnerReportRoutes {
  userActions: UserActions;
  waits: Waits;
  /** Aborts when this process is about to end: a runner that waits for a person is answered, and asks another replica. */
  stopped: AbortController;
  /** Address of the console for people. */
  consoleUrl: string | undefined;
  /** Address at which pages in a chat open sockets of live views (`ws:`, `wss:`), `/live` of this service; undefined: nowhere. */
  liveUrl: string | undefined;
}

const { viewer } = CHAT_VIEWER;
const inChat = { viewer, identity: identityOf(CHAT_VIEWER) };

/** Routes of runners and their uploaders: what a lease gives, the person who is asked and who watches in the chat, the reports. */
export const runnerRoutes: FastifyPluginAsyncZod<RunnerRoutes> = async (app, parts) => {
  const { publicKeys, directory, userActions, waits, stopped, consoleUrl, keys, liveUrl } = parts;
  const liveSession = liveSessionOf(parts);
  app.addHook('onRoute', describeRoutes('runner', 'runners'));
  app.decorateRequest('lease', null);
  await app.register(runnerGrantRoutes, parts);

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
      const { id, timeout_seconds, wait_ms, credential: about } = request.body;
      const { reason, credential } =
        about === undefined
          ? { reason: request.body.reason, credential: undefined }
          : credentialQuestion(about.site, about.origin);
      const asked = await userActions.ask(claims, id, reason, timeout_seconds, credential);
      if (!asked) throw tokenLeaseEnded();
      waits.questions.kick();
      const key = waitKey(claims.session_id, id);
      const closed =
        asked.status === 'pending' &&
        (await waits.userActions.within(wait_ms, key, { signal: stopped.signal, hasLooked: true }));
      const answered = closed ? await userActions.find(claims.session_id, id) : null;
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
        body: userActionChatAnswer,
        response: { 200: userAction },
      },
    },
    async request => {
      const session = await liveSession(request);
      const { status, note } = request.body;
      const { action_id } = request.params;
      // The agent's side has the lease's token too, and must not allow itself a credential.
      const asked = await userActions.find(session.id, action_id);
      if (asked === null || asked.credential !== null) throw userActionNotFound();
      const action = await userActions.answer(session.id, action_id, status, note ?? null, inChat);
      if (!action) throw userActionNotFound();
      waits.markClosed(session.id, action_id);
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

  await app.register(runnerReportRoutes, parts);
  await app.register(runnerTraceRoutes, parts);
};
