import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import * as z from 'zod';
import type { PendingUserActions, UserActionEvent } from '../lease/pending-user-actions.ts';
import { serviceOnly } from './bearer.ts';
import { describeRoutes } from './describe.ts';
import { sendStream, serverSentStreams } from './server-sent.ts';

export interface UserActionEventRoutes {
  serviceKey: Uint8Array;
  pendingUserActions: PendingUserActions;
}

/** Proxies close connections that are silent for 60 s. */
const PING_MS = 20_000;
/** A reader that leaves this much unread is closed; it connects again and gets what is pending then. */
const UNREAD_BYTES_MAX = 1024 * 1024;

/**
 * A10: notifies a platform at once when an agent waits for its person, and when it no longer does, as server-sent events
 * (<https://html.spec.whatwg.org/multipage/server-sent-events.html>). A client that connects again gets all that is pending: no
 * event has to be kept.
 */
export const userActionEventRoutes: FastifyPluginAsyncZod<UserActionEventRoutes> = async (app, parts) => {
  const openStream = serverSentStreams(app);
  app.addHook('onRoute', describeRoutes('service', 'user actions'));
  app.decorateRequest('userId', null);
  app.addHook('onRequest', serviceOnly(parts.serviceKey));

  app.get(
    '/events',
    {
      exposeHeadRoute: false, // of an answer that never ends, it would have to be made all the same
      schema: {
        operationId: 'streamUserActions',
        summary:
          'User actions as server-sent events: `user_action.requested` for each pending one, `user_action.closed`',
        response: { 200: { description: 'Until it is closed', content: { 'text/event-stream': { schema: z.any() } } } },
      },
    },
    async (request, reply) => {
      const stream = openStream(() => {
        clearInterval(ping);
        unlisten();
      });
      const write = (text: string) => {
        stream.write(text);
        if (stream.writableLength > UNREAD_BYTES_MAX) stream.destroy();
      };
      const ping = setInterval(() => write(': ping\n\n'), PING_MS);
      const unlisten = parts.pendingUserActions.listen(request.userId, event => write(textOf(event)));
      return sendStream(reply, stream);
    },
  );
};

const textOf = ({ kind, action }: UserActionEvent): string =>
  `event: ${kind}\nid: ${action.id}\ndata: ${JSON.stringify(action)}\n\n`;
