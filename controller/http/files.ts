import { Readable } from 'node:stream';
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import * as z from 'zod';
import { fileList, fileName, sessionFile } from '../../contract/files.ts';
import { sessionId } from '../../contract/lease-key.ts';
import { OmicronError } from '../../contract/problem.ts';
import { type FileParts, listSessionFiles, putFile, readSessionFile } from '../lease/files.ts';
import { serviceOnly } from './bearer.ts';
import { describeRoutes } from './describe.ts';
import { sendContent } from './send-content.ts';

export interface FileRoutes extends FileParts {
  serviceKey: Uint8Array;
}

/** Streams: nothing is serialized by this schema. */
const BYTES = { 'application/octet-stream': { schema: z.any() } };
const params = z.object({ session_id: sessionId });
const namedParams = params.extend({ name: fileName.describe('Name of the file within its session.') });

/** B1: files for a session's browser, and what it downloaded; after the lease's end from the artifact store. */
export const fileRoutes: FastifyPluginAsyncZod<FileRoutes> = async (app, { serviceKey, ...parts }) => {
  app.addHook('onRoute', describeRoutes('service', 'files'));
  app.decorateRequest('userId', null);
  app.addHook('onRequest', serviceOnly(serviceKey));
  // A file has any type, and is passed on as it comes.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, payload, done) => done(null, payload));

  app.get(
    '',
    {
      schema: {
        operationId: 'listSessionFiles',
        summary: 'Files of the session: brought in, and downloaded by its browser; of equal names the newest',
        params,
        response: { 200: fileList },
      },
    },
    async request => ({ files: await listSessionFiles(parts, request.params.session_id, request.userId) }),
  );

  app.put(
    '/:name',
    {
      schema: {
        operationId: 'putSessionFile',
        summary: 'Brings a file to the running browser, for its uploads; a name is given once in a lease',
        params: namedParams,
        consumes: ['application/octet-stream'],
        body: z.any(),
        response: { 200: sessionFile },
      },
    },
    async request => {
      const { session_id, name } = request.params;
      const length = request.headers['content-length'];
      const bytes = length === undefined ? undefined : Number(length);
      const content = request.body instanceof Readable ? request.body : Readable.from([]);
      return putFile(parts, session_id, request.userId, { name, content, bytes });
    },
  );

  app.get(
    '/:name',
    {
      schema: {
        operationId: 'readSessionFile',
        summary: 'The bytes of a file, or with the header Range one part of them (206)',
        params: namedParams,
        response: {
          200: { description: 'The whole', content: BYTES },
          206: { description: 'The part that Range asked for', content: BYTES },
          416: z.null().describe('The file has no such part'),
        },
      },
    },
    async (request, reply) => {
      const { session_id, name } = request.params;
      const answer = await readSessionFile(parts, session_id, request.userId, { name, range: request.headers.range });
      if (answer === null)
        throw new OmicronError('file_not_found', `The session has no file "${name}" that can be read here.`);
      return sendContent(reply, answer);
    },
  );
};
