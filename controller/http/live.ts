import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import * as z from 'zod';
import { sessionId } from '../../contract/lease-key.ts';
import { liveTokenAnswer, liveTokenRequest } from '../../contract/live.ts';
import type { Keys } from '../lease/assignment-tokens.ts';
import { liveRunner } from '../lease/live-runner.ts';
import { createLiveToken } from '../lease/live-tokens.ts';
import type { Directory } from '../store/directory.ts';
import { serviceOnly } from './bearer.ts';
import { describeRoutes } from './describe.ts';

export interface LiveRoutes {
  serviceKey: Uint8Array;
  keys: Keys;
  directory: Directory;
}

/** A3, A4: tokens for viewers of a lease's browser. `live-upgrade.ts` takes them. */
export const liveRoutes: FastifyPluginAsyncZod<LiveRoutes> = async (app, { serviceKey, keys, directory }) => {
  app.addHook('onRoute', describeRoutes('service', 'live view'));
  app.decorateRequest('userId', null);
  app.addHook('onRequest', serviceOnly(serviceKey));

  app.post(
    '/live-token',
    {
      schema: {
        operationId: 'createLiveToken',
        summary: 'A token that opens one live view of the running browser, within a minute',
        params: z.object({ session_id: sessionId }),
        body: liveTokenRequest.nullish(), // Fastify validates a missing body as null
        response: { 200: liveTokenAnswer },
      },
    },
    async request => {
      const runner = await liveRunner(directory, request.params.session_id, request.userId);
      const { role = 'view', viewer = runner.session.user_id, viewer_id } = request.body ?? {};
      const { token, expiresMs } = createLiveToken(keys, runner, { role, viewer, viewer_id });
      return { token, role, epoch: runner.session.epoch, expires_at: new Date(expiresMs).toISOString() };
    },
  );
};
