import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import * as z from 'zod';
import { OmicronError } from '../../contract/problem.ts';
import { artifactList } from '../../contract/session.ts';
import type { ArtifactStore } from '../ports/artifacts.ts';
import type { Directory } from '../store/directory.ts';
import { serviceOnly } from './bearer.ts';
import { byteRange } from './byte-range.ts';
import { describeRoutes } from './describe.ts';
import { sessionNotFound } from './problems.ts';

export interface ArtifactRoutes {
  serviceKey: Uint8Array;
  directory: Directory;
  artifacts: ArtifactStore;
}

/** Sent as a stream: nothing is serialized by this schema. */
const VIDEO = { 'video/webm': { schema: z.any() } };

/** S1: the videos of a session, and their bytes. */
export const artifactRoutes: FastifyPluginAsyncZod<ArtifactRoutes> = async (app, parts) => {
  const { serviceKey, directory, artifacts } = parts;
  app.addHook('onRoute', describeRoutes('service'));
  app.decorateRequest('userId', null);
  app.addHook('onRequest', serviceOnly(serviceKey));

  const listOf = async (sessionId: string, userId: string | null) => {
    const session = await directory.session(sessionId, userId);
    if (!session) throw sessionNotFound();
    return directory.artifacts(session.id);
  };

  app.get(
    '',
    {
      schema: {
        operationId: 'listSessionArtifacts',
        summary: "The session's artifacts: stored, or lost with the reason",
        params: z.object({ session_id: z.uuid() }),
        response: { 200: artifactList },
      },
    },
    async request => ({ artifacts: await listOf(request.params.session_id, request.userId) }),
  );

  app.get(
    '/:artifact_id/content',
    {
      schema: {
        operationId: 'readArtifact',
        summary: 'The bytes of a stored artifact, or with the header Range one part of them (206)',
        params: z.object({ session_id: z.uuid(), artifact_id: z.uuid() }),
        response: {
          200: { description: 'The whole', content: VIDEO },
          206: { description: 'The part that Range asked for', content: VIDEO },
          416: z.null().describe('The video has no such part'),
        },
      },
    },
    async (request, reply) => {
      const { session_id, artifact_id } = request.params;
      const list = await listOf(session_id, request.userId);
      const { uri = null } = list.find(({ id }) => id === artifact_id) ?? {};
      const content = uri === null ? null : await artifacts.read(uri);
      if (content === null)
        throw new OmicronError(
          'artifact_not_found',
          uri === null ? 'No stored artifact of this session has this id.' : `The controller cannot read ${uri}.`,
        );
      const { bytes } = content;
      const range = byteRange(request.headers.range, bytes);
      reply.type('video/webm').header('accept-ranges', 'bytes').header('cache-control', 'private, no-store');
      if (range === 'unsatisfiable') return reply.status(416).header('content-range', `bytes */${bytes}`).send(null);
      const { start, end } = range ?? { start: 0, end: bytes - 1 };
      if (range !== undefined) reply.status(206).header('content-range', `bytes ${start}-${end}/${bytes}`);
      return reply.header('content-length', end - start + 1).send(content.stream(start, end));
    },
  );
};
