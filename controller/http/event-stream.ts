import { once } from 'node:events';
import type { PassThrough } from 'node:stream';
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import * as z from 'zod';
import {
  eventStreamQuery,
  LAST_EVENT_ID,
  PLACE,
  readPlace,
  type StreamedEvent,
  streamedEvent,
} from '../../contract/event-stream.ts';
import type { EventTail } from '../lease/event-tail.ts';
import { requireTokenUser, serviceOnly } from './bearer.ts';
import { describeRoutes } from './describe.ts';
import { sendStream, serverSentStreams } from './server-sent.ts';

export interface EventStreamRoutes {
  serviceKey: Uint8Array;
  eventTail: EventTail;
}

/** Proxies close connections that are silent for 60 s. */
const PING_MS = 20_000;
/** A reader that takes nothing for this many pings is closed; it resumes after its last event. */
const SILENT_PINGS_MAX = 3;

const headers = z.looseObject({
  [LAST_EVENT_ID]: z
    .string()
    .regex(PLACE, 'must be the id of an event of this stream, e.g. 7345.812; 0.0 begins with the oldest event')
    .optional()
    .describe(
      'Id of the last event that was received: the stream goes on after it. `0.0`: from the oldest event that is kept.',
    ),
});

// The document of each event; the answer itself is a stream, which nothing checks.
const streamedText = streamedEvent as unknown as z.ZodAny;

/**
 * B5: the events of all sessions as server-sent events, in the order of their transactions. A reader that resumes misses none and gets none
 * twice, whichever replica answers: <https://html.spec.whatwg.org/multipage/server-sent-events.html>.
 */
export const eventStreamRoutes: FastifyPluginAsyncZod<EventStreamRoutes> = async (app, { serviceKey, eventTail }) => {
  const openStream = serverSentStreams(app);
  app.addHook('onRoute', describeRoutes('service', 'sessions'));
  app.decorateRequest('userId', null);
  app.addHook('onRequest', serviceOnly(serviceKey));

  app.get(
    '',
    {
      exposeHeadRoute: false, // of an answer that never ends, it would have to be made all the same
      schema: {
        operationId: 'streamEvents',
        summary: 'Events of all sessions as server-sent events, from now on or after `Last-Event-ID`',
        querystring: eventStreamQuery,
        headers,
        response: {
          200: {
            description: 'Until it is closed; the `data` of each event is such a document',
            content: { 'text/event-stream': { schema: streamedText } },
          },
        },
      },
    },
    async (request, reply) => {
      const { query } = request;
      if (query.user_id !== undefined) requireTokenUser(request, query.user_id);
      const user_id = request.userId ?? query.user_id;
      const filter = { ...query, ...(user_id === undefined ? {} : { user_id }) };
      const last = request.headers[LAST_EVENT_ID];
      const from = typeof last === 'string' ? readPlace(last) : await eventTail.end();
      await eventTail.check(from);
      const closed = new AbortController();
      const stream = openStream(() => {
        stopPings();
        closed.abort();
      });
      const stopPings = pingReader(stream);
      stream.on('error', () => {}); // it is closed
      void sendEvents(stream, eventTail.follow(from, filter, closed.signal), closed.signal).catch(error => {
        if (!closed.signal.aborted) request.log.warn({ err: error }, 'event stream failed; its reader resumes');
        stream.destroy();
      });
      return sendStream(reply, stream);
    },
  );
};

/** As fast as the reader takes them. */
async function sendEvents(
  stream: PassThrough,
  pages: AsyncIterable<readonly StreamedEvent[]>,
  signal: AbortSignal,
): Promise<void> {
  for await (const events of pages) {
    if (stream.writableEnded) return;
    if (!stream.write(events.map(textOf).join(''))) await once(stream, 'drain', { signal });
  }
}

function pingReader(stream: PassThrough): () => void {
  let silent = 0;
  const timer = setInterval(() => {
    silent = stream.writableNeedDrain ? silent + 1 : 0;
    if (silent >= SILENT_PINGS_MAX) stream.destroy();
    else if (silent === 0 && !stream.writableEnded) stream.write(': ping\n\n');
  }, PING_MS);
  return () => clearInterval(timer);
}

const textOf = (event: StreamedEvent): string =>
  `event: ${event.kind}\nid: ${event.id}\ndata: ${JSON.stringify(event)}\n\n`;
