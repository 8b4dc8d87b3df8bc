import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import type { FastifyInstance } from 'fastify';
import * as z from 'zod';
import { OmicronError, problemSchema } from '../../contract/problem.ts';
import { askController, type ControllerAccess } from './controller-access.ts';
import { hasH264, type Mp4Encoder, mp4Encoder } from './mp4.ts';
import { signInOf } from './rights.ts';

const params = z.object({ session_id: z.uuid(), artifact_id: z.uuid() });

/** Videos as MP4 (B11), where there is an ffmpeg that makes them: `GET /api/video-formats` says so. */
export async function videoRoutes(
  app: FastifyInstance,
  controller: ControllerAccess,
  ffmpeg: string | undefined,
): Promise<void> {
  const encoder: Mp4Encoder | undefined =
    ffmpeg !== undefined && (await hasH264(ffmpeg)) ? mp4Encoder(ffmpeg) : undefined;

  app.get('/api/video-formats', async () => ({ formats: encoder === undefined ? ['webm'] : ['webm', 'mp4'] }));

  app.get('/api/browser-sessions/:session_id/artifacts/:artifact_id/mp4', async (request, reply) => {
    const { data } = params.safeParse(request.params);
    if (data === undefined || encoder === undefined)
      throw new OmicronError('artifact_not_found', 'This console makes no MP4 of it: its ffmpeg needs libx264.');
    const path = `/internal/browser-sessions/${data.session_id}/artifacts/${data.artifact_id}/content`;
    const answer = await askController(controller, { method: 'GET', path, person: signInOf(request) });
    if (!answer.ok || answer.body === null) {
      const { code, detail } = problemSchema.parse(await answer.json());
      throw new OmicronError(code, detail);
    }
    const webm = Readable.fromWeb(answer.body as ReadableStream); // the same stream, by two names
    reply.headers({ 'cache-control': 'no-store', 'content-disposition': 'attachment' });
    return reply.type('video/mp4').send(encoder.encode(webm));
  });
}
