import { posix } from 'node:path';
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import * as z from 'zod';
import { OmicronError } from '../../contract/problem.ts';
import { artifactList } from '../../contract/session.ts';
import { mimeTypeOf } from '../../http/mime-type.ts';
import { storedAnswer } from '../lease/stored-answer.ts';
import type { ArtifactStore } from '../ports/artifacts.ts';
import type { Directory } from '../store/directory.ts';
import { serviceOnly } from './bearer.ts';
import { describeRoutes } from './describe.ts';
import { sessionNotFound } from './problems.ts';
import { sendContent } from './send-content.ts';

export interface ArtifactRoutes {
  serviceKey: Uint8Array;
  directory: Directory;
  artifacts: ArtifactStore;
}

/** Sent as a stream: nothing is serialized by this schema. A file has the type that its name stands for. */
const BYTES = { 'video/webm': { schema: z.any() }, 'application/octet-stream': { schema: z.any() } };

/** S1: the videos, files and kept pages of a session, and their bytes. */
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
          200: { description: 'The whole', content: BYTES },
          206: { description: 'The part that Range asked for', content: BYTES },
          416: z.null().describe('The artifact has no such part'),
        },
      },
    },
    async (request, reply) => {
      const { session_id, artifact_id } = request.params;
      const list = await listOf(session_id, request.userId);
      const artifact = list.find(({ id }) => id === artifact_id);
      const uri = artifact?.uri ?? null;
      const content = uri === null ? null : await artifacts.read(uri);
      if (artifact === undefined || content === null)
        throw new OmicronError(
          'artifact_not_found',
          uri === null ? 'No stored artifact of this session has this id.' : `The controller cannot read ${uri}.`,
        );
      // What a page wrote is for no browser to show.
      const isOfPage = artifact.kind !== 'video';
      const about = { mimeType: mimeTypeOf(artifact.name), ...(isOfPage && { name: posix.basename(artifact.name) }) };
      return sendContent(reply, storedAnswer(content, about, request.headers.range));
    },
  );
};
