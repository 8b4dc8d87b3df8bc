import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import * as z from 'zod';
import { sessionId } from '../../contract/lease-key.ts';
import { identityOf } from '../../contract/live.ts';
import { OmicronError } from '../../contract/problem.ts';
import {
  type AnsweredBy,
  pendingUserActionList,
  type UserActionAnswer,
  userAction,
  userActionAnswer,
  userActionList,
} from '../../contract/user-action.ts';
import { storeSite } from '../lease/store-site.ts';
import type { Waits } from '../lease/waits.ts';
import type { SecretStore } from '../ports/secrets.ts';
import type { Directory } from '../store/directory.ts';
import type { UserActions } from '../store/user-actions.ts';
import { serviceOnly } from './bearer.ts';
import { describeRoutes } from './describe.ts';
import { sessionNotFound, userActionNotFound } from './problems.ts';

export interface UserActionRoutes {
  serviceKey: Uint8Array;
  userActions: UserActions;
  secrets: SecretStore;
  directory: Directory;
  waits: Waits;
}

/** A10: what agents of a session asked of its user, and the user's answers. */
export const userActionRoutes: FastifyPluginAsyncZod<UserActionRoutes> = async (app, parts) => {
  const { userActions, secrets, directory, waits } = parts;
  app.addHook('onRoute', describeRoutes('service', 'user actions'));
  app.decorateRequest('userId', null);
  app.addHook('onRequest', serviceOnly(parts.serviceKey));

  const owned = async (sessionId: string, userId: string | null) => {
    const session = await directory.session(sessionId, userId);
    if (!session) throw sessionNotFound();
    return session;
  };

  app.get(
    '',
    {
      schema: {
        operationId: 'listUserActions',
        summary: 'User actions of this session, oldest first',
        params: z.object({ session_id: sessionId }),
        response: { 200: userActionList },
      },
    },
    async request => {
      await owned(request.params.session_id, request.userId);
      return { user_actions: await userActions.list(request.params.session_id) };
    },
  );

  app.post(
    '/:action_id',
    {
      schema: {
        operationId: 'answerUserAction',
        summary: 'Answers one user action; the first answer counts',
        params: z.object({ session_id: sessionId, action_id: z.uuid().describe('Id of the user action.') }),
        body: userActionAnswer,
        response: { 200: userAction },
      },
    },
    async request => {
      const { session_id, action_id } = request.params;
      const { user_id } = await owned(session_id, request.userId);
      const { status, note, always = false } = request.body;
      const asked = await userActions.find(session_id, action_id);
      if (!asked) throw userActionNotFound();
      if (always && (status !== 'done' || asked.credential === null))
        throw new OmicronError('invalid_request', '"always" answers a question about a credential with "done".');
      const by = personOf(request.body, request.userId);
      const action = await userActions.answer(session_id, action_id, status, note ?? null, by);
      if (!action) throw userActionNotFound();
      waits.markClosed(session_id, action_id);
      if (always && action.status === 'done' && action.credential !== null) {
        await storeSite(secrets, user_id, action.credential);
        request.log.info({ session_id, ...action.credential }, 'site stored with a credential');
      }
      return action;
    },
  );
};

/** A10: what waits for a person now, in all sessions that the token may see. */
export const pendingUserActionRoutes: FastifyPluginAsyncZod<UserActionRoutes> = async (app, parts) => {
  app.addHook('onRoute', describeRoutes('service', 'user actions'));
  app.decorateRequest('userId', null);
  app.addHook('onRequest', serviceOnly(parts.serviceKey));

  app.get(
    '',
    {
      schema: {
        operationId: 'listPendingUserActions',
        summary: 'Pending user actions of all sessions, oldest first, at most 200',
        response: { 200: pendingUserActionList },
      },
    },
    async request => ({ user_actions: await parts.userActions.pending(request.userId) }),
  );
};

/** The person whom the token's holder vouches for. */
function personOf({ viewer, viewer_id }: UserActionAnswer, userId: string | null): AnsweredBy | null {
  const name = viewer ?? userId ?? viewer_id;
  return name === undefined ? null : { viewer: name, identity: identityOf({ viewer: name, viewer_id }) };
}
