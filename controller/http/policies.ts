import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import * as z from 'zod';
import { effectivePolicy, parsePolicy, policyDocument } from '../../contract/policy/document.ts';
import type { PolicyLayer } from '../../contract/policy/sites.ts';
import { OmicronError } from '../../contract/problem.ts';
import { foreignId } from '../../contract/session.ts';
import type { Changes } from '../lease/changes.ts';
import type { Directory } from '../store/directory.ts';
import type { Policies } from '../store/policies.ts';
import { mayActFor, serviceOnly } from './bearer.ts';
import { describeRoutes } from './describe.ts';
import { sessionNotFound } from './problems.ts';

export interface PolicyRoutes {
  serviceKey: Uint8Array;
  policies: Policies;
  directory: Directory;
  changes: Changes;
}

const answer = z.object({ policy: policyDocument.nullable() }).meta({ id: 'PolicyAnswer' });

/** Policies by layer. A document with a fault is refused with the path to it, and the one before stays in force. */
export const policyRoutes: FastifyPluginAsyncZod<PolicyRoutes> = async (app, parts) => {
  const { policies, directory, changes } = parts;
  app.addHook('onRoute', describeRoutes('service'));
  app.decorateRequest('userId', null);
  app.addHook('onRequest', serviceOnly(parts.serviceKey));

  /** One layer's document under one path: read, replace, delete. */
  const layer = <Params extends z.ZodObject>(
    name: PolicyLayer,
    path: string,
    params: Params,
    subjectOf: (params: z.output<Params>, userId: string | null) => Promise<string>,
  ) => {
    const named = (verb: string) => `${verb}${name[0]?.toUpperCase()}${name.slice(1)}Policy`;
    app.get(
      path,
      {
        schema: {
          operationId: named('get'),
          summary: `The ${name}'s policy, null when none is set`,
          params,
          response: { 200: answer },
        },
      },
      async request => {
        const subject = await subjectOf(request.params as z.output<Params>, request.userId); // parsed by the route
        return { policy: await policies.get(name, subject) };
      },
    );
    app.put(
      path,
      {
        schema: {
          operationId: named('put'),
          summary: `Replaces the ${name}'s policy; leases that run obey it within seconds`,
          params,
          body: z.unknown(),
          response: { 200: answer },
        },
      },
      async request => {
        const subject = await subjectOf(request.params as z.output<Params>, request.userId); // parsed by the route
        const policy = parsePolicy(request.body);
        await policies.put(name, subject, policy);
        changes.kick();
        return { policy };
      },
    );
    app.delete(
      path,
      {
        schema: {
          operationId: named('delete'),
          summary: `Deletes the ${name}'s policy; repeating it changes nothing`,
          params,
          response: { 204: z.null() },
        },
      },
      async (request, reply) => {
        const subject = await subjectOf(request.params as z.output<Params>, request.userId); // parsed by the route
        await policies.remove(name, subject);
        changes.kick();
        return reply.status(204).send(null);
      },
    );
  };

  layer('deployment', '/policy', z.object({}), async (_params, userId) => {
    if (userId !== null)
      throw new OmicronError('forbidden', 'A token limited to a user may not touch the deployment policy.');
    return '';
  });
  layer('user', '/users/:user_id/policy', z.object({ user_id: foreignId }), async ({ user_id }, userId) => {
    mayActFor({ userId }, user_id);
    return user_id;
  });
  const sessionId = z.object({ session_id: z.uuid() });
  const found = async (id: string, userId: string | null) => {
    const session = await directory.session(id, userId);
    if (!session) throw sessionNotFound();
    return session;
  };
  layer(
    'session',
    '/browser-sessions/:session_id/policy',
    sessionId,
    async ({ session_id }, userId) => (await found(session_id, userId)).id,
  );

  app.get(
    '/browser-sessions/:session_id/policy/effective',
    {
      schema: {
        operationId: 'getEffectivePolicy',
        summary: 'Every layer that applies to the session, widest first',
        params: sessionId,
        response: { 200: effectivePolicy },
      },
    },
    async request => {
      const session = await found(request.params.session_id, request.userId);
      return policies.of(session.id, session.user_id);
    },
  );
};
