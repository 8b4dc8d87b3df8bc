import { posix } from 'node:path';
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import * as z from 'zod';
import { sessionId } from '../../contract/lease-key.ts';
import { OmicronError } from '../../contract/problem.ts';
import { type Artifact, artifactList, artifactUrlAnswer, artifactUrlRequest } from '../../contract/session.ts';
import { mimeTypeOf } from '../../http/mime-type.ts';
import { storedAnswer } from '../lease/stored-answer.ts';
import type { ArtifactContent, ArtifactStore } from '../ports/artifacts.ts';
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
  const params = z.object({ session_id: sessionId, artifact_id: z.uuid().describe('Id of the artifact.') });
  app.addHook('onRoute', describeRoutes('service', 'artifacts'));
  app.decorateRequest('userId', null);
  app.addHook('onRequest', serviceOnly(serviceKey));

  const listOf = async (sessionId: string, userId: string | null) => {
    const session = await directory.session(sessionId, userId);
    if (!session) throw sessionNotFound();
    return directory.artifacts(session.id);
  };

  /** A stored artifact that the controller may read. Throws `artifact_not_found`. */
  const stored = async (
    { session_id, artifact_id }: z.infer<typeof params>,
    userId: string | null,
  ): Promise<{ artifact: Artifact; uri: string; content: ArtifactContent }> => {
    const artifact = (await listOf(session_id, userId)).find(({ id }) => id === artifact_id);
    const uri = artifact?.uri ?? null;
    if (artifact === undefined || uri === null)
      throw new OmicronError('artifact_not_found', 'No stored artifact of this session has this id.');
    const content = await artifacts.read(uri);
    if (content === null) throw new OmicronError('artifact_not_found', `The controller cannot read ${uri}.`);
    return { artifact, uri, content };
  };

  app.get(
    '',
    {
      schema: {
        operationId: 'listSessionArtifacts',
        summary: "The session's artifacts: stored, or lost with the reason",
        params: z.object({ session_id: sessionId }),
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
        params,
        response: {
          200: { description: 'The whole', content: BYTES },
          206: { description: 'The part that Range asked for', content: BYTES },
          416: z.null().describe('The artifact has no such part'),
        },
      },
    },
    async (request, reply) => {
      const { artifact, content } = await stored(request.params, request.userId);
      // No browser may show the text of a page.
      const isOfPage = artifact.kind !== 'video';
      const about = { mimeType: mimeTypeOf(artifact.name), ...(isOfPage && { name: posix.basename(artifact.name) }) };
      return sendContent(reply, storedAnswer(content, about, request.headers.range));
    },
  );

  app.post(
    '/:artifact_id/url',
    {
      schema: {
        operationId: 'createArtifactUrl',
        summary: 'A URL of S3 that reads the artifact without a token, with Range too, for 60 s by default',
        params,
        body: artifactUrlRequest.nullish(), // Fastify validates a missing body as null
        response: { 200: artifactUrlAnswer },
      },
    },
    async (request, reply) => {
      const { artifact, uri } = await stored(request.params, request.userId);
      const { ttl_seconds: seconds } = artifactUrlRequest.parse(request.body ?? {});
      const expires_at = new Date(Date.now() + seconds * 1_000).toISOString();
      const { name } = artifact;
      const url = await artifacts.sign(uri, { name: posix.basename(name), mimeType: mimeTypeOf(name), seconds });
      if (url === null)
        throw new OmicronError(
          'artifact_urls_unavailable',
          'Artifacts of this deployment are in a folder, which gives no URLs. Read the content from the controller.',
        );
      const { session_id, epoch, id } = artifact;
      request.log.info({ session_id, epoch, artifact_id: id, seconds }, 'artifact URL signed');
      reply.header('cache-control', 'no-store');
      return { url, expires_at };
    },
  );
};
