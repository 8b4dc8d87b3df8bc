import Fastify, { type FastifyInstance, LogController } from 'fastify';
import type { Logger } from 'pino';
import { CONSOLE_ROUTES } from '../../contract/console.ts';
import { OmicronError } from '../../contract/problem.ts';
import { LIMITS } from '../../contract/session.ts';
import { serviceKey } from '../../contract/tokens.ts';
import { type Clock, realClock } from '../../http/clock.ts';
import { serveAssets } from './assets.ts';
import { controllerRoutes } from './controller-routes.ts';
import { liveViews } from './live-views.ts';
import { OneTimeLinks } from './one-time-links.ts';
import { policyRoutes } from './policy-routes.ts';
import { answerProblems } from './problems.ts';
import { sameOriginOnly } from './same-origin.ts';
import { signInRoutes } from './sign-in-routes.ts';
import { SignIns } from './sign-ins.ts';

/** A console that listens. */
export interface Console {
  /** Its origin, e.g. `http://127.0.0.1:43117`. */
  readonly url: string;
  /** A new link that signs one person in, once, within ten minutes. It is a secret until it is opened. */
  link(): string;
  /** Stops listening and signs every person out. */
  stop(): Promise<void>;
}

export interface ConsoleOptions {
  /** The origin that people open, e.g. `http://127.0.0.1:<port>`. */
  url: string;
  /** Where it listens; the host and port of `url` unless given. */
  listen?: { host: string; port: number };
  controllerUrl: string;
  /** At least 32 bytes, shared with the controller. */
  serviceSecret: string;
  log: Logger;
  clock?: Clock;
}

/** They are how a person gets a sign-in, so they need none. */
const OPEN_ROUTES: readonly string[] = Object.values(CONSOLE_ROUTES);

/** Serves the console. Rejects when the port is taken. */
export async function startConsole(options: ConsoleOptions): Promise<Console> {
  const { controllerUrl, log, clock = realClock } = options;
  const url = new URL(options.url);
  const controller = { controllerUrl, serviceKey: serviceKey(options.serviceSecret) };
  const app = Fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true }), // paths hold user ids
    bodyLimit: LIMITS.bodyBytesMax,
    routerOptions: { maxParamLength: 3 * LIMITS.idBytesMax }, // an id, percent-encoded
    forceCloseConnections: true,
  }) as unknown as FastifyInstance; // its logger is pino's, which Fastify's default type does not name
  const links = new OneTimeLinks(clock);
  const signIns = new SignIns(url, clock);
  // In the fragment: it reaches no server and no log, and a preview of the link does not use it up.
  const newLink = () => `${url.origin}/sign-in#${links.make()}`;

  answerProblems(app);
  app.addHook('onRequest', sameOriginOnly(url));
  app.addHook('onRequest', async request => {
    const { url: route = '' } = request.routeOptions;
    if (route.startsWith('/api/') && !OPEN_ROUTES.includes(route) && signIns.of(request.headers.cookie) === undefined)
      throw new OmicronError('unauthorized', 'You are not signed in. Open a new link to the console.');
  });
  signInRoutes(app, { serviceKey: controller.serviceKey, links, signIns, newLink });
  controllerRoutes(app, controller);
  liveViews(app, { url, signIns, controller });
  policyRoutes(app);
  await serveAssets(app);
  const { host, port } = options.listen ?? { host: url.hostname, port: Number(url.port) };
  await app.listen({ host, port });
  log.info({ url: url.origin }, 'console listening');
  return { url: url.origin, link: newLink, stop: () => app.close() };
}
