import Fastify, { type FastifyInstance, type FastifyRequest, LogController } from 'fastify';
import type { Logger } from 'pino';
import { BrowserSessions } from '../../client/browser-sessions.ts';
import { LIMITS } from '../../contract/session.ts';
import { serviceKey } from '../../contract/tokens.ts';
import { answerClientError } from '../../http/client-errors.ts';
import { parseJsonBody } from '../../http/json-body.ts';
import { neverSniff } from '../../http/never-sniff.ts';
import { type Clock, realClock } from '../../time/clock.ts';
import { serveAssets } from './assets.ts';
import { controllerRoutes } from './controller-routes.ts';
import { credentialTestRoute } from './credential-test.ts';
import { liveViews } from './live-views.ts';
import type { IdentityProvider } from './oidc.ts';
import { oidcRoutes } from './oidc-routes.ts';
import { OneTimeLinks } from './one-time-links.ts';
import { policyToolRoutes } from './policy-routes.ts';
import { polledViewRoutes } from './polled-view-routes.ts';
import { handleConsoleErrors } from './problems.ts';
import { checkRights } from './rights.ts';
import { checkSameOrigin } from './same-origin.ts';
import { signInRoutes, type VouchForToken } from './sign-in-routes.ts';
import { SignIns } from './sign-ins.ts';
import { traceConsoleRequests } from './trace-requests.ts';
import { videoRoutes } from './video-routes.ts';
import { type ConsoleMetrics, countRequests } from './watched-requests.ts';

/** Asked by the kubelet, under the address of the pod. */
const HEALTH = '/healthz';

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
  /** Address on which it listens; the host and port of `url` unless given. */
  listen?: { host: string; port: number };
  controllerUrl: string;
  /** At least 32 bytes, shared with the controller. */
  serviceSecret: string;
  /** Providers of identities; unless given, links do, each for an admin. */
  identity?: Identity;
  /** Path of an ffmpeg; with libx264 it makes MP4s of videos. */
  ffmpeg?: string | undefined;
  /** Origins of pages that may show a preview in a frame. */
  embedOrigins?: readonly string[];
  log: Logger;
  clock?: Clock;
  /** Counts what it does; nothing does unless given. */
  metrics?: ConsoleMetrics;
}

/** An identity provider, the platform's own tokens, or both. */
export interface Identity {
  readonly provider?: IdentityProvider;
  readonly vouchForToken?: VouchForToken;
}

/** Serves the console. Rejects when the port is taken. */
export async function startConsole(options: ConsoleOptions): Promise<Console> {
  const { controllerUrl, identity, embedOrigins = [], log, clock = realClock } = options;
  const url = new URL(options.url);
  const controller = { controllerUrl, serviceKey: serviceKey(options.serviceSecret) };
  const app = Fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true }), // paths hold user ids
    bodyLimit: LIMITS.bodyBytesMax,
    routerOptions: { maxParamLength: 3 * LIMITS.idBytesMax }, // an id, percent-encoded
    clientErrorHandler: answerClientError,
    forceCloseConnections: true,
  }) as unknown as FastifyInstance; // its logger is pino's, which Fastify's default type does not name
  const tokens = new OneTimeLinks(clock);
  const signIns = new SignIns(url, clock);
  // In the fragment: it reaches no server and no log, and a preview of the link does not use it up.
  const newLink = () => `${url.origin}/sign-in#${tokens.make()}`;

  neverSniff(app.server);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'string' }, async (_request: FastifyRequest, body: string) =>
    parseJsonBody(body),
  );
  handleConsoleErrors(app);
  traceConsoleRequests(app);
  if (options.metrics) countRequests(app, options.metrics.answered);
  app.get(HEALTH, async () => ({ status: 'ok' }));
  app.addHook('onRequest', async request => {
    if (request.routeOptions.url !== HEALTH) checkSameOrigin(url, request);
  });
  checkRights(app, signIns);
  signInRoutes(app, {
    serviceKey: controller.serviceKey,
    signIns,
    vouchForToken: identity?.vouchForToken,
    links: identity ? undefined : { tokens, newLink },
    hasProvider: identity?.provider !== undefined,
  });
  if (identity?.provider)
    oidcRoutes(app, { provider: identity.provider, signIns, url, clock, secret: controller.serviceKey });
  controllerRoutes(app, controller);
  const openViews = liveViews(app, { url, signIns, controller });
  options.metrics?.watch({ liveViews: openViews, signIns: () => signIns.count });
  polledViewRoutes(app, controller);
  policyToolRoutes(app);
  credentialTestRoute(app, new BrowserSessions({ url: controllerUrl, serviceSecret: options.serviceSecret }));
  await videoRoutes(app, controller, options.ffmpeg);
  await serveAssets(app, embedOrigins);
  const { host, port } = options.listen ?? { host: url.hostname, port: Number(url.port) };
  await app.listen({ host, port });
  log.info({ url: url.origin }, 'console listening');
  return { url: url.origin, link: newLink, stop: () => app.close() };
}
