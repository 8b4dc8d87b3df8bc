import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import * as z from 'zod';
import { OmicronError } from '../../contract/problem.ts';
import { credentialList, credentialSchema, secretNames, secretsOf, siteKey } from '../../contract/secrets.ts';
import { foreignId } from '../../contract/session.ts';
import type { SecretStore } from '../ports/secrets.ts';
import { mayActFor, serviceOnly } from './bearer.ts';
import { describeRoutes } from './describe.ts';

const site = z.object({ user_id: foreignId, site: siteKey });

export interface CredentialRoutes {
  serviceKey: Uint8Array;
  secrets: SecretStore;
}

/** Site credentials of a user: written and deleted here, read by runners only, by redemption. */
export const credentialRoutes: FastifyPluginAsyncZod<CredentialRoutes> = async (app, { serviceKey, secrets }) => {
  app.addHook('onRoute', describeRoutes('service'));
  app.decorateRequest('userId', null);
  app.addHook('onRequest', serviceOnly(serviceKey));

  app.get(
    '',
    {
      schema: {
        operationId: 'listCredentials',
        summary: 'Sites with a stored credential, and the names an agent uses; never a value',
        params: z.object({ user_id: foreignId }),
        response: { 200: credentialList },
      },
    },
    async request => {
      mayActFor(request, request.params.user_id);
      const document = await secrets.read(request.params.user_id);
      const sites = Object.keys(document?.credentials ?? {}).sort();
      return { sites: sites.map(key => ({ site: key, secret_names: secretNames(key) })) };
    },
  );

  app.put(
    '/:site',
    {
      schema: {
        operationId: 'putCredential',
        summary: 'Stores or replaces the credential of one site; leases that start from now on have it',
        params: site,
        body: credentialSchema,
        response: { 204: z.null() },
      },
    },
    async (request, reply) => {
      const { user_id, site: key } = request.params;
      mayActFor(request, user_id);
      const stored = await secrets.read(user_id);
      try {
        secretsOf({ credentials: { ...stored?.credentials, [key]: request.body } });
      } catch {
        throw new OmicronError(
          'invalid_request',
          `Another site of this user already has the names ${secretNames(key).join(' and ')}; choose another site key.`,
        );
      }
      await secrets.put(user_id, key, request.body);
      return reply.status(204).send(null);
    },
  );

  app.delete(
    '/:site',
    {
      schema: {
        operationId: 'deleteCredential',
        summary: 'Deletes the credential of one site; repeating it changes nothing',
        params: site,
        response: { 204: z.null() },
      },
    },
    async (request, reply) => {
      mayActFor(request, request.params.user_id);
      await secrets.remove(request.params.user_id, request.params.site);
      return reply.status(204).send(null);
    },
  );
};
