import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import * as z from 'zod';
import { AUDIENCES } from '../../contract/names.ts';
import { OmicronError } from '../../contract/problem.ts';
import type { ControllerKeys } from '../../contract/tokens.ts';
import { userAction, userActionAnswer, userActionList, userActionRequest } from '../../contract/user-action.ts';
import type { Changes } from '../lease/changes.ts';
import type { Directory } from '../store/directory.ts';
import type { UserActions } from '../store/user-actions.ts';
import { leaseOf, leaseOnly, serviceOnly } from './bearer.ts';
import { problems, sessionNotFound } from './problems.ts';

export interface UserActionRoutes {
  serviceKey: Uint8Array;
  publicKeys: ControllerKeys;
  userActions: UserActions;
  directory: Directory;
  changes: Changes;
}

const BASE = '/internal/browser-sessions/:session_id/user-actions';

/** A10: an agent asks, its runner waits here, a person answers. */
export const userActionRoutes: FastifyPluginAsyncZod<UserActionRoutes> = async (app, parts) => {
  const { userActions, directory, changes, publicKeys } = parts;

  app.decorateRequest('lease', null);

  app.post(
    '/internal/runner-user-actions',
    {
      ...leaseOnly(publicKeys, AUDIENCES.lease),
      schema: {
        operationId: 'askUser',
        summary: 'Asks the person of a lease to do something, and waits for the answer',
        security: [{ runner: [] }],
        body: userActionRequest,
        response: { 200: userAction, ...problems },
      },
    },
    async request => {
      const { claims } = leaseOf(request);
      const { id, reason, timeout_seconds, wait_ms } = request.body;
      const asked = await userActions.ask(claims, id, reason, timeout_seconds);
      if (!asked) throw new OmicronError('lease_ended', 'The lease of this token is over; stop serving it.');
      changes.kick();
      const action = await changes.until(
        () => userActions.find(claims.session_id, id),
        seen => seen?.status !== 'pending',
        wait_ms,
      );
      return action ?? asked;
    },
  );

  await app.register(async api => {
    const typed = api.withTypeProvider<import('fastify-type-provider-zod').ZodTypeProvider>();
    typed.decorateRequest('userId', null);
    typed.addHook('onRequest', serviceOnly(parts.serviceKey));
    const security = [{ service: [] }];
    const owned = async (sessionId: string, userId: string | null) => {
      if (!(await directory.session(sessionId, userId))) throw sessionNotFound();
    };

    typed.get(
      BASE,
      {
        schema: {
          operationId: 'listUserActions',
          summary: 'What agents of this session asked of their person, oldest first',
          security,
          params: z.object({ session_id: z.uuid() }),
          response: { 200: userActionList, ...problems },
        },
      },
      async request => {
        await owned(request.params.session_id, request.userId);
        return { user_actions: await userActions.list(request.params.session_id) };
      },
    );

    typed.post(
      `${BASE}/:action_id`,
      {
        schema: {
          operationId: 'answerUserAction',
          summary: 'Answers one request; the first answer counts',
          security,
          params: z.object({ session_id: z.uuid(), action_id: z.uuid() }),
          body: userActionAnswer,
          response: { 200: userAction, ...problems },
        },
      },
      async request => {
        const { session_id, action_id } = request.params;
        await owned(session_id, request.userId);
        const { status, note } = request.body;
        const action = await userActions.answer(session_id, action_id, status, note ?? null);
        if (!action) throw new OmicronError('user_action_not_found', 'The session has no request with this id.');
        changes.kick();
        return action;
      },
    );
  });
};
