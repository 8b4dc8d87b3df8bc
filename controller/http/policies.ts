import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import * as z from 'zod';
import { sessionId } from '../../contract/lease-key.ts';
import { effectivePolicy } from '../../contract/policy/document.ts';
import { OmicronError } from '../../contract/problem.ts';
import { userId } from '../../contract/session.ts';
import type { ProviderCapabilities } from '../ports/runners.ts';
import type { Directory } from '../store/directory.ts';
import type { Policies } from '../store/policies.ts';
import { requireTokenUser, serviceOnly } from './bearer.ts';
import { describeRoutes } from './describe.ts';
import { policyLayerRoutes } from './policy-layer.ts';
import { sessionNotFound } from './problems.ts';

export interface PolicyRoutes {
  serviceKey: Uint8Array;
  policies: Policies;
  directory: Directory;
  capabilities: ProviderCapabilities;
}

/**
 * Policies by layer. An invalid document is refused with the path to its fault, and the previous one stays in force.
 */
export const policyRoutes: FastifyPluginAsyncZod<PolicyRoutes> = async (app, parts) => {
  const { policies, directory, capabilities } = parts;
  app.addHook('onRoute', describeRoutes('service', 'policies'));
  app.decorateRequest('userId', null);
  app.addHook('onRequest', serviceOnly(parts.serviceKey));

  const params = z.object({ session_id: sessionId });
  const found = async (id: string, userId: string | null) => {
    const session = await directory.session(id, userId);
    if (!session) throw sessionNotFound();
    return session;
  };

  const deployment = policyLayerRoutes({
    layer: 'deployment',
    params: z.object({}),
    subjectOf(_params, userId) {
      if (userId === null) return '';
      throw new OmicronError('forbidden', 'A token limited to a user may not read or change the deployment policy.');
    },
    policies,
    capabilities,
  });
  const user = policyLayerRoutes({
    layer: 'user',
    params: z.object({ user_id: userId }),
    subjectOf({ user_id }, userId) {
      requireTokenUser({ userId }, user_id);
      return user_id;
    },
    policies,
    capabilities,
  });
  const session = policyLayerRoutes({
    layer: 'session',
    params,
    subjectOf: async ({ session_id }, userId) => (await found(session_id, userId)).id,
    policies,
    capabilities,
  });
  await app.register(deployment, { prefix: '/policy' });
  await app.register(user, { prefix: '/users/:user_id/policy' });
  await app.register(session, { prefix: '/browser-sessions/:session_id/policy' });

  app.get(
    '/browser-sessions/:session_id/policy/effective',
    {
      schema: {
        operationId: 'getEffectivePolicy',
        summary: 'Every layer that applies to the session, widest first',
        params,
        response: { 200: effectivePolicy },
      },
    },
    async request => {
      const { id, user_id } = await found(request.params.session_id, request.userId);
      return policies.of(id, user_id);
    },
  );
};
