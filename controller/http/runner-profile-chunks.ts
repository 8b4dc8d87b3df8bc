import { Readable } from 'node:stream';
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import * as z from 'zod';
import { AUDIENCES } from '../../contract/names.ts';
import { OmicronError } from '../../contract/problem.ts';
import { profileChunksRequest, profileChunksStored, profileVersionNumber } from '../../contract/profile.ts';
import { CHUNKS_BODY_BYTES_MAX, unpackChunks } from '../../contract/profile-chunks.ts';
import type { ControllerKeys } from '../../contract/tokens.ts';
import { type ProfileKeeper, requireProfiles } from '../profiles/profile-keeper.ts';
import { leaseOf, leaseOnly } from './bearer.ts';

export interface RunnerProfileRoutes {
  publicKeys: ControllerKeys;
  /** Null: this deployment keeps no profiles. */
  profileKeeper: ProfileKeeper | null;
}

export const CHUNKS_TYPE = 'application/octet-stream';

/** Chunks of the browser's files in the profile of a lease. `runnerProfileRoutes` parses bodies of `CHUNKS_TYPE`. */
export const runnerProfileChunkRoutes: FastifyPluginAsyncZod<RunnerProfileRoutes> = async (app, parts) => {
  const ofLease = leaseOnly(parts.publicKeys, AUDIENCES.lease);
  const keeper = () => requireProfiles(parts.profileKeeper);

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
            content: { [CHUNKS_TYPE]: { schema: z.any() } },
          },
        },
      },
    },
    async (request, reply) => {
      const chunks = await keeper().readChunks(leaseOf(request).claims, request.body.objects);
      const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
      return reply
        .type(CHUNKS_TYPE)
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
        consumes: [CHUNKS_TYPE],
        response: { 200: profileChunksStored },
      },
    },
    async request => {
      const { body: bytes, query } = request;
      if (!Buffer.isBuffer(bytes))
        throw new OmicronError('invalid_request', `Invalid request: the body must be bytes, as ${CHUNKS_TYPE}.`);
      return { objects: await keeper().writeChunks(leaseOf(request).claims, query.base_version, unpackChunks(bytes)) };
    },
  );
};
