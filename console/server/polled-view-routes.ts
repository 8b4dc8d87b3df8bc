import { randomUUID } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import * as z from 'zod';
import { mayAs } from '../../contract/console.ts';
import { LIVE_LIMITS } from '../../contract/live-limits.ts';
import { PICTURE_HEADERS } from '../../contract/live-picture.ts';
import {
  type PolledViewNews,
  type PolledViewOpened,
  polledViewMessages,
  polledViewQuery,
  polledViewRequest,
} from '../../contract/polled-view.ts';
import { OmicronError } from '../../contract/problem.ts';
import type { ControllerAccess } from './controller-access.ts';
import { dialLive, requestLiveToken } from './live-views.ts';
import { type PolledView, polledView } from './polled-view.ts';
import { signInOf } from './rights.ts';
import type { SignIn } from './sign-ins.ts';

/** A request that finds nothing new is answered after this time: proxies close silent connections after 60 s. */
const WAIT_MS = 10_000;
/** A view that no page has asked for in this time is closed. */
const FORGOTTEN_MS = 20_000;
const CHECK_MS = 500;

interface Known {
  readonly view: PolledView;
  readonly signIn: SignIn;
  askedAtMs: number;
}

/** Live views by HTTP requests alone; `contract/polled-view.ts` says how they are used. */
export function polledViewRoutes(app: FastifyInstance, controller: ControllerAccess): void {
  const views = new Map<string, Known>();

  const sweep = setInterval(() => {
    for (const [id, { signIn, view, askedAtMs }] of views) {
      if (signIn.isOpen() && performance.now() - askedAtMs < FORGOTTEN_MS) continue;
      views.delete(id);
      view.close();
    }
  }, CHECK_MS).unref();
  app.addHook('preClose', async () => {
    clearInterval(sweep);
    for (const { view } of views.values()) view.close();
  });

  /** The view of this request. Another person's is not found. */
  function asked(request: FastifyRequest): Known {
    const known = views.get(z.object({ view: z.string() }).parse(request.params).view);
    if (known === undefined || known.signIn.id !== signInOf(request).id)
      throw new OmicronError('lease_ended', 'This live view is closed; open another one.');
    known.askedAtMs = performance.now();
    return known;
  }

  app.post(
    '/api/browser-sessions/:session_id/polled-views',
    { config: { role: 'viewer' } },
    async (request): Promise<PolledViewOpened> => {
      const { session_id } = parseInput(z.object({ session_id: z.uuid() }), request.params);
      const signIn = signInOf(request);
      const wanted = parseInput(polledViewRequest, request.body).role;
      const role = mayAs(signIn.role, 'operator') ? wanted : 'view';
      const token = await requestLiveToken(controller, session_id, role, signIn);
      const id = randomUUID();
      const view = polledView(dialLive(controller, session_id, token));
      views.set(id, { view, signIn, askedAtMs: performance.now() });
      return { view: id };
    },
  );

  app.get('/api/polled-views/:view', async (request, reply): Promise<PolledViewNews> => {
    const { view } = asked(request);
    const { after, picture } = parseInput(polledViewQuery, request.query);
    reply.header('cache-control', 'no-store');
    return view.news(after, picture, AbortSignal.timeout(WAIT_MS));
  });

  app.get('/api/polled-views/:view/picture', async (request, reply) => {
    const picture = asked(request).view.picture();
    if (picture === undefined) return reply.status(204).send();
    const { seq, tab, cssWidth, cssHeight, jpeg } = picture;
    const etag = `"${seq}"`;
    reply.headers({ etag, 'cache-control': 'private, no-cache' });
    if (request.headers['if-none-match'] === etag) return reply.status(304).send();
    reply.headers({
      [PICTURE_HEADERS.tab]: tab,
      [PICTURE_HEADERS.width]: cssWidth,
      [PICTURE_HEADERS.height]: cssHeight,
    });
    return reply.type('image/jpeg').send(Buffer.from(jpeg));
  });

  app.post(
    '/api/polled-views/:view/messages',
    { config: { role: 'viewer' }, bodyLimit: LIVE_LIMITS.messageBytesMax }, // files for a page are among them
    async (request, reply) => {
      const { picture, messages } = parseInput(polledViewMessages, request.body);
      asked(request).view.say(picture, messages);
      return reply.status(204).send();
    },
  );

  app.delete('/api/polled-views/:view', { config: { role: 'viewer' } }, async (request, reply) => {
    asked(request).view.close();
    return reply.status(204).send();
  });
}

function parseInput<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const { data, success } = schema.safeParse(value);
  if (!success) throw new OmicronError('invalid_request', 'The request is not one that a page of the console sends.');
  return data;
}
