import { PassThrough } from 'node:stream';
import type { FastifyInstance, FastifyReply } from 'fastify';

/** Opens a stream of server-sent events. `onClose`: it has ended, or its reader has gone. */
export type OpenStream = (onClose: () => void) => PassThrough;

/** Streams of one plugin, all of which end when the server closes: readers begin again at another replica. */
export function serverSentStreams(app: Pick<FastifyInstance, 'addHook'>): OpenStream {
  const streams = new Set<PassThrough>();
  app.addHook('preClose', async () => {
    for (const stream of streams) stream.end();
  });
  return onClose => {
    const stream = new PassThrough();
    streams.add(stream);
    stream.write(': listening\n\n'); // the head goes out with it
    stream.once('close', () => {
      onClose();
      streams.delete(stream);
    });
    return stream;
  };
}

export const sendStream = (reply: FastifyReply, stream: PassThrough) =>
  reply.type('text/event-stream').header('cache-control', 'no-store').send(stream);
