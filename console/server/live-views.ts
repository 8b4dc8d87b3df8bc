import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { type RawData, WebSocket, WebSocketServer } from 'ws';
import { type LiveRole, liveRole, liveTokenAnswer, liveTokenProtocol } from '../../contract/live.ts';
import { LIVE_CLOSE, LIVE_LIMITS, LIVE_PROTOCOL } from '../../contract/live-limits.ts';
import { OmicronError, problemSchema } from '../../contract/problem.ts';
import { refuseUpgrade } from '../../http/upgrade.ts';
import { askController, type ControllerAccess } from './controller-access.ts';
import { problemOf } from './problems.ts';
import { checkHost, checkOrigin } from './same-origin.ts';
import type { SignIn, SignIns } from './sign-ins.ts';

const PATH = /^\/api\/browser-sessions\/([0-9a-f-]{36})\/live$/;
const DIAL = { perMessageDeflate: false, handshakeTimeout: 5_000 } as const;
/** A sign-in that has ended is noticed in this time. */
const CHECK_MS = 500;
/** Codes of RFC 6455 and its registry; after these the viewer connects again. */
const GOING_AWAY = 1001;
const TRY_AGAIN = 1013;
/** From here on codes are the protocol's own: `LIVE_CLOSE`. */
const APPLICATION_CODES = 4_000;
/** What a close frame holds. */
const REASON_BYTES_MAX = 123;

export interface LiveViewOptions {
  controller: ControllerAccess;
  /** The console's own origin: its pages alone open live views. */
  url: URL;
  signIns: SignIns;
}

/**
 * Serves the WebSockets of `GET /api/browser-sessions/{session_id}/live?role=view|control`. Each one is a viewer of its own at the
 * controller, with a token that this process requests and no page gets to see. A socket lives as long as the sign-in that opened
 * it, at most.
 */
export function liveViews(app: FastifyInstance, { url, signIns, controller }: LiveViewOptions): void {
  const sockets = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false, // a JPEG does not get smaller
    maxPayload: LIVE_LIMITS.messageBytesMax,
    handleProtocols: () => LIVE_PROTOCOL,
  });

  function admitted(request: IncomingMessage): { sessionId: string; role: LiveRole; signIn: SignIn } {
    const { pathname = '', searchParams } = URL.parse(request.url ?? '', url.origin) ?? {};
    const sessionId = PATH.exec(pathname)?.[1];
    const role = liveRole.safeParse(searchParams?.get('role') ?? 'control').data;
    if (sessionId === undefined || role === undefined)
      throw new OmicronError('route_not_found', 'WebSockets are served at /api/browser-sessions/{id}/live only.');
    checkHost(url, request.headers.host);
    checkOrigin(url, request.headers.origin);
    const signIn = signIns.of(request.headers.cookie);
    if (signIn === undefined) throw new OmicronError('unauthorized', 'You are not signed in.');
    return { sessionId, role, signIn };
  }

  function upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const { sessionId, role, signIn } = admitted(request);
    sockets.handleUpgrade(request, socket, head, viewer => {
      viewer.on('error', () => viewer.terminate());
      const check = setInterval(() => {
        if (!signIn.isOpen()) viewer.close(LIVE_CLOSE.revoked, 'signed out');
      }, CHECK_MS);
      viewer.once('close', () => clearInterval(check));
      admission(controller, sessionId, { role, viewer: signIn.name }).then(
        ({ url: at, protocols }) => couple(viewer, new WebSocket(at, protocols, DIAL)),
        (error: unknown) => viewer.close(...closing(error)),
      );
    });
  }

  app.server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => socket.destroy());
    try {
      upgrade(request, socket, head);
    } catch (error) {
      refuseUpgrade(socket, problemOf(error, app.log));
    }
  });
  app.addHook('preClose', done => {
    for (const viewer of sockets.clients) viewer.close(GOING_AWAY, 'the console stops');
    done();
  });
}

/** The subprotocols and the address with which one live view is opened at the controller. */
async function admission(
  controller: ControllerAccess,
  sessionId: string,
  body: { role: LiveRole; viewer: string },
): Promise<{ url: string; protocols: string[] }> {
  const path = `/internal/browser-sessions/${sessionId}`;
  const answer = await askController(controller, { method: 'POST', path: `${path}/live-token`, body });
  if (!answer.ok) {
    const { code, detail } = problemSchema.parse(await answer.json());
    throw new OmicronError(code, detail);
  }
  const { token } = liveTokenAnswer.parse(await answer.json());
  const url = `${controller.controllerUrl.replace(/^http/, 'ws')}${path}/live`;
  return { url, protocols: [LIVE_PROTOCOL, liveTokenProtocol(token)] };
}

/** Passes messages on both ways. Few of them wait: a viewer has at most two pictures that it has not acknowledged. */
function couple(viewer: WebSocket, runner: WebSocket): void {
  const passTo = (to: WebSocket) => (data: RawData, isBinary: boolean) => {
    if (to.readyState === WebSocket.OPEN) to.send(data, { binary: isBinary });
  };
  viewer.on('message', passTo(runner));
  runner.on('message', passTo(viewer));
  runner.on('error', () => undefined); // its close follows
  viewer.once('close', () => runner.close());
  runner.once('close', (code, reason) => {
    if (code >= APPLICATION_CODES) viewer.close(code, reason);
    else viewer.close(TRY_AGAIN, 'the connection to the browser was lost');
  });
  if (viewer.readyState !== WebSocket.OPEN) runner.close();
}

/** The code and the words of a close frame, in ASCII: a character is a byte, and one byte too many is an exception. */
function closing(error: unknown): [number, string] {
  const known = error instanceof OmicronError;
  if (!known) return [TRY_AGAIN, 'the browser cannot be reached'];
  const isOver = error.code === 'lease_ended' || error.code === 'session_not_found';
  return [isOver ? LIVE_CLOSE.leaseEnded : TRY_AGAIN, error.message.replace(/[^ -~]/g, '?').slice(0, REASON_BYTES_MAX)];
}
