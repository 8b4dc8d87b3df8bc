import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import * as z from 'zod';
import { credentialTargets } from '../../contract/policy/credentials.ts';
import type { KnownSites } from '../../contract/policy/well-known-sites.ts';
import { OmicronError } from '../../contract/problem.ts';
import {
  type ClientCertificate,
  credentialList,
  credentialSchema,
  sameNames,
  secretNames,
  siteKey,
  urlTargets,
  type VaultDocument,
} from '../../contract/secrets.ts';
import { userId } from '../../contract/session.ts';
import { certificateFault } from '../lease/client-certificate.ts';
import type { SecretStore } from '../ports/secrets.ts';
import type { Policies } from '../store/policies.ts';
import { requireTokenUser, serviceOnly } from './bearer.ts';
import { describeRoutes } from './describe.ts';

const site = z.object({
  user_id: userId,
  site: siteKey.describe('Site key: the name of the credential, the prefix of its secret names.'),
});

export interface CredentialRoutes {
  serviceKey: Uint8Array;
  secrets: SecretStore;
  policies: Policies;
  knownSites: KnownSites;
}

/** Site credentials of a user: written and deleted here, read by runners only, by redemption. */
export const credentialRoutes: FastifyPluginAsyncZod<CredentialRoutes> = async (
  app,
  { serviceKey, secrets, policies, knownSites },
) => {
  app.addHook('onRoute', describeRoutes('service', 'credentials'));
  app.decorateRequest('userId', null);
  app.addHook('onRequest', serviceOnly(serviceKey));

  /** Throws for a document that has another form: its entries are unknown, and a change would write over it. */
  const documentOf = async (userId: string): Promise<VaultDocument> => {
    const document = (await secrets.read(userId)) ?? { credentials: {}, unusable: {} };
    if (document.fault !== undefined) throw new OmicronError('secrets_unavailable', document.fault);
    return document;
  };

  app.get(
    '',
    {
      schema: {
        operationId: 'listCredentials',
        summary: 'Sites with a stored credential, the names an agent uses, and where it is filled; never a value',
        params: z.object({ user_id: userId }),
        response: { 200: credentialList },
      },
    },
    async request => {
      const { user_id } = request.params;
      requireTokenUser(request, user_id);
      const [{ credentials, unusable }, { layers }] = await Promise.all([
        documentOf(user_id),
        policies.ofUser(user_id),
      ]);
      const rules = layers.map(({ layer, policy }) => ({ layer, credentials: policy.credentials }));
      const usable = Object.entries(credentials).map(([key, credential]) => {
        const url = urlTargets(credential);
        const { targets, reason } = credentialTargets(rules, key, url, knownSites(key));
        return {
          site: key,
          secret_names: credential.username === undefined ? [] : secretNames(key),
          client_certificate: credential.client_certificate !== undefined,
          url,
          filled_on: targets,
          problem: reason,
        };
      });
      const others = Object.entries(unusable).map(([key, problem]) => ({
        site: key,
        secret_names: [],
        filled_on: [],
        problem,
      }));
      return { sites: [...usable, ...others].sort((a, b) => (a.site < b.site ? -1 : 1)) };
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
      requireTokenUser(request, user_id);
      requireUsable(request.body.client_certificate);
      const { credentials, unusable } = await documentOf(user_id);
      const other = Object.keys({ ...credentials, ...unusable }).find(stored => sameNames(stored, key));
      if (other !== undefined)
        throw new OmicronError(
          'invalid_request',
          `Site "${other}" of this user already has the names ${secretNames(key).join(' and ')}; choose another site key.`,
        );
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
      requireTokenUser(request, request.params.user_id);
      await secrets.remove(request.params.user_id, request.params.site);
      return reply.status(204).send(null);
    },
  );
};

/** Throws `invalid_request` for a client certificate that TLS does not take. */
function requireUsable(certificate: ClientCertificate | undefined): void {
  const fault = certificate && certificateFault(certificate);
  if (fault !== undefined)
    throw new OmicronError('invalid_request', `Invalid request: body/client_certificate ${fault}.`);
}
