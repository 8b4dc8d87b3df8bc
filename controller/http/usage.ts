import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { usageQuery, usageReport } from '../../contract/usage.ts';
import type { Usage } from '../store/usage.ts';
import { requireTokenUser, serviceOnly } from './bearer.ts';
import { describeRoutes } from './describe.ts';

export interface UsageRoutes {
  serviceKey: Uint8Array;
  usage: Usage;
}

/** B7: usage for a platform's bills and limits. */
export const usageRoutes: FastifyPluginAsyncZod<UsageRoutes> = async (app, { serviceKey, usage }) => {
  app.addHook('onRoute', describeRoutes('service', 'usage'));
  app.decorateRequest('userId', null);
  app.addHook('onRequest', serviceOnly(serviceKey));

  app.get(
    '',
    {
      schema: {
        operationId: 'readUsage',
        summary: 'Usage of users, or of sessions by a tag, in a period: leases, their seconds, bytes of artifacts',
        querystring: usageQuery,
        response: { 200: usageReport },
      },
    },
    async request => {
      const { query } = request;
      if (query.user_id !== undefined) requireTokenUser(request, query.user_id);
      return usage.report({ ...query, user_id: request.userId ?? query.user_id });
    },
  );
};
