import { randomUUID } from 'node:crypto';
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import * as z from 'zod';
import { type LiveTokenClaims, liveTokenAnswer, liveTokenRequest } from '../../contract/live.ts';
import { LIVE_LIMITS } from '../../contract/live-limits.ts';
import { AUDIENCES } from '../../contract/names.ts';
import { signControllerToken } from '../../contract/tokens.ts';
import type { Keys } from '../lease/assignment-tokens.ts';
import { liveRunner } from '../lease/live-runner.ts';
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
  app.addHook('onRoute', describeRoutes('service'));
  app.decorateRequest('userId', null);
  app.addHook('onRequest', serviceOnly(serviceKey));

  app.post(
    '/live-token',
    {
      schema: {
        operationId: 'createLiveToken',
        summary: 'A token that opens one live view of the running browser, within a minute',
        params: z.object({ session_id: z.uuid() }),
        body: liveTokenRequest.nullish(), // Fastify validates a missing body as null
        response: { 200: liveTokenAnswer },
      },
    },
    async request => {
      const { session, runnerId, bootId } = await liveRunner(directory, request.params.session_id, request.userId);
      const { role = 'view', viewer = session.user_id } = request.body ?? {};
      const claims: LiveTokenClaims = {
        ...{ jti: randomUUID(), session_id: session.id, epoch: session.epoch },
        ...{ role, viewer },
      };
      const times = { nowMs: Date.now(), seconds: LIVE_LIMITS.tokenSeconds };
      const token = signControllerToken(keys.signing, AUDIENCES.live(runnerId, bootId), claims, times);
      const expires_at = new Date(times.nowMs + times.seconds * 1_000).toISOString();
      return { token, role, epoch: session.epoch, expires_at };
    },
  );
};
