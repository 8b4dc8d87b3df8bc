import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import * as z from 'zod';
import { sessionId } from '../../contract/lease-key.ts';
import { pendingUserActionList, userAction, userActionAnswer, userActionList } from '../../contract/user-action.ts';
import type { ChangeSignal } from '../lease/changes.ts';
import type { Directory } from '../store/directory.ts';
import type { UserActions } from '../store/user-actions.ts';
import { serviceOnly } from './bearer.ts';
import { describeRoutes } from './describe.ts';
import { sessionNotFound, userActionNotFound } from './problems.ts';

export interface UserActionRoutes {
  serviceKey: Uint8Array;
  userActions: UserActions;
  directory: Directory;
  changes: ChangeSignal;
}

/** A10: what agents of a session asked of its user, and the user's answers. */
export const userActionRoutes: FastifyPluginAsyncZod<UserActionRoutes> = async (app, parts) => {
  const { userActions, directory, changes } = parts;
  app.addHook('onRoute', describeRoutes('service', 'user actions'));
  app.decorateRequest('userId', null);
  app.addHook('onRequest', serviceOnly(parts.serviceKey));

  const owned = async (sessionId: string, userId: string | null) => {
    if (!(await directory.session(sessionId, userId))) throw sessionNotFound();
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
      await owned(session_id, request.userId);
      const { status, note } = request.body;
      const action = await userActions.answer(session_id, action_id, status, note ?? null);
      if (!action) throw userActionNotFound();
      changes.kick();
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
