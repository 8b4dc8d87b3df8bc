import { Readable } from 'node:stream';
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import * as z from 'zod';
import { AUDIENCES } from '../../contract/names.ts';
import { OmicronError } from '../../contract/problem.ts';
import {
  profileChunksRequest,
  profileChunksStored,
  profileSave,
  profileSaved,
  profileVersionNumber,
  runnerProfile,
} from '../../contract/profile.ts';
import { CHUNKS_BODY_BYTES_MAX, unpackChunks } from '../../contract/profile-chunks.ts';
import type { ControllerKeys } from '../../contract/tokens.ts';
import { type ProfileKeeper, requireProfiles } from '../profiles/profile-keeper.ts';
import { leaseOf, leaseOnly } from './bearer.ts';
import { describeRoutes } from './describe.ts';
import { STATE_BODY_BYTES_MAX } from './profiles.ts';

export interface RunnerProfileRoutes {
  publicKeys: ControllerKeys;
  /** Null: this deployment keeps no profiles. */
  profileKeeper: ProfileKeeper | null;
}

const BYTES = 'application/octet-stream';

/** The profile of a lease, for its runner: read at the start, saved now and then, given back at the end. */
export const runnerProfileRoutes: FastifyPluginAsyncZod<RunnerProfileRoutes> = async (app, parts) => {
  app.addHook('onRoute', describeRoutes('runner', 'runners'));
  app.addContentTypeParser(BYTES, { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
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

  app.post(
    '/chunks/read',
    {
      ...ofLease,
      schema: {
        operationId: 'readProfileChunks',
        summary: "Chunks of the browser's files in the profile that the lease starts with",
        body: profileChunksRequest,
        response: {
          200: {
            description: 'The bytes of the chunks, one after the other',
            content: { [BYTES]: { schema: z.any() } },
          },
        },
      },
    },
    async (request, reply) => {
      const chunks = await keeper().readChunks(leaseOf(request).claims, request.body.objects);
      const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
      return reply
        .type(BYTES)
        .header('content-length', length)
        .send(Readable.from(chunks) as never); // no JSON
    },
  );

  app.post(
    '/chunks/write',
    {
      ...ofLease,
      bodyLimit: CHUNKS_BODY_BYTES_MAX,
      schema: {
        operationId: 'writeProfileChunks',
        summary:
          "Stores chunks of the browser's files, for a save over this version: all of them, or none is acknowledged",
        description:
          'The body is a list of the chunks as JSON (`[{"sha256": "...", "bytes": 1}]`), a newline, and their bytes, one after the other.',
        querystring: z.object({
          base_version: z.coerce
            .number()
            .pipe(profileVersionNumber)
            .describe('Version over which the profile will be saved.'),
        }),
        consumes: [BYTES],
        response: { 200: profileChunksStored },
      },
    },
    async request => {
      const { body: bytes, query } = request;
      if (!Buffer.isBuffer(bytes))
        throw new OmicronError('invalid_request', `Invalid request: the body must be bytes, as ${BYTES}.`);
      return { objects: await keeper().writeChunks(leaseOf(request).claims, query.base_version, unpackChunks(bytes)) };
    },
  );
};

const NULL = Buffer.from('null');
const BRACE = Buffer.from('}');
