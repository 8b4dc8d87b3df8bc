import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import * as z from 'zod';
import { userId } from '../../contract/session.ts';
import { userErasure } from '../../contract/user-erasure.ts';
import { type ErasureParts, eraseUser } from '../lease/erase-user.ts';
import { requireTokenUser, serviceOnly } from './bearer.ts';
import { describeRoutes } from './describe.ts';

export interface UserRoutes extends ErasureParts {
  serviceKey: Uint8Array;
}

/** A runner saves its recording and its profile, and ends, within this time. */
const ERASE_MS = 5_000;

/** Everything of a user (O15). */
export const userRoutes: FastifyPluginAsyncZod<UserRoutes> = async (app, parts) => {
  app.addHook('onRoute', describeRoutes('service', 'users'));
  app.decorateRequest('userId', null);
  app.addHook('onRequest', serviceOnly(parts.serviceKey));

  app.delete(
    '',
    {
      schema: {
        operationId: 'deleteUser',
        summary:
          'Removes sessions, events, files, videos, profiles, credentials, policies and user actions of a user; repeating it is harmless',
        params: z.object({ user_id: userId }),
        response: { 200: userErasure, 202: userErasure },
      },
    },
    async (request, reply) => {
      const { user_id } = request.params;
      requireTokenUser(request, user_id);
      const erasure = await eraseUser(parts, user_id, ERASE_MS);
      if (!erasure.done) reply.status(202).header('retry-after', '1');
      return erasure;
    },
  );
};
