import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import * as z from 'zod';
import { AUDIENCES } from '../../contract/names.ts';
import { profileSave, profileSaved, runnerProfile } from '../../contract/profile.ts';
import { requireProfiles } from '../profiles/profile-keeper.ts';
import { leaseOf, leaseOnly } from './bearer.ts';
import { describeRoutes } from './describe.ts';
import { STATE_BODY_BYTES_MAX } from './profile-content.ts';
import { CHUNKS_TYPE, type RunnerProfileRoutes, runnerProfileChunkRoutes } from './runner-profile-chunks.ts';

/** The profile of a lease, for its runner: read at the start, saved now and then, given back at the end. */
export const runnerProfileRoutes: FastifyPluginAsyncZod<RunnerProfileRoutes> = async (app, parts) => {
  app.addHook('onRoute', describeRoutes('runner', 'runners'));
  app.addContentTypeParser(CHUNKS_TYPE, { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  const ofLease = leaseOnly(parts.publicKeys, AUDIENCES.lease);
  const keeper = () => requireProfiles(parts.profileKeeper);

  app.get(
    '',
    {
      ...ofLease,
      schema: {
        operationId: 'readLeaseProfile',
        summary: 'The profile that the browser of a lease starts with',
        response: { 200: runnerProfile },
      },
    },
    async (request, reply) => {
      const { version, json } = await keeper().ofLease(leaseOf(request).claims);
      const body = Buffer.concat([Buffer.from(`{"version":${version},"content":`), json ?? NULL, BRACE]);
      return reply.type('application/json').send(body as never); // JSON as it is stored
    },
  );

  app.put(
    '',
    {
      ...ofLease,
      bodyLimit: STATE_BODY_BYTES_MAX,
      schema: {
        operationId: 'saveLeaseProfile',
        summary: 'Saves the profile of a lease over the version that its runner knows; also while the lease ends',
        body: profileSave,
        response: { 200: profileSaved },
      },
    },
    async request => {
      const { base_version, ...content } = request.body;
      return { version: await keeper().saveFor(leaseOf(request).claims, base_version, content) };
    },
  );

  app.delete(
    '',
    {
      ...ofLease,
      schema: {
        operationId: 'releaseLeaseProfile',
        summary: 'The runner of a lease saves no more: the next lease need not wait for it',
        response: { 204: z.null() },
      },
    },
    async (request, reply) => {
      await keeper().release(leaseOf(request).claims);
      return reply.status(204).send(null);
    },
  );

  await app.register(runnerProfileChunkRoutes, { ...parts, prefix: '' }); // below the prefix of this one
};

const NULL = Buffer.from('null');
const BRACE = Buffer.from('}');
