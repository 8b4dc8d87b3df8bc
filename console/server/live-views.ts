import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { type RawData, WebSocket, WebSocketServer } from 'ws';
import { mayAs } from '../../contract/console.ts';
import { type LiveRole, liveRole, liveTokenAnswer, liveTokenOf } from '../../contract/live.ts';
import { LIVE_CLOSE, LIVE_LIMITS, LIVE_PROTOCOL, liveTokenProtocol } from '../../contract/live-limits.ts';
import { OmicronError, problemSchema } from '../../contract/problem.ts';
import { refuseUpgrade } from '../../http/upgrade.ts';
import { askController, type ControllerAccess } from './controller-access.ts';
import { describeError } from './problems.ts';
import { checkHost, requireSameOrigin } from './same-origin.ts';
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
/** Bytes that may wait for the slower end: some pictures. */
const WAITING_BYTES_MAX = 1024 * 1024;
/** Contents of a close frame. */
const REASON_BYTES_MAX = 123;

export interface LiveProxyOptions {
  controller: ControllerAccess;
  /** The console's own origin: its pages alone open live views. */
  url: URL;
  signIns: SignIns;
}

/** The person who opens a live view: a person who is signed in, or one to whom the platform gave a live token for an embedded preview. */
type Admitted = { readonly sessionId: string } & (
  | { readonly by: 'sign-in'; readonly role: LiveRole; readonly signIn: SignIn }
  | { readonly by: 'token'; readonly token: string }
);

/**
 * Serves the WebSockets of `GET /api/browser-sessions/{session_id}/live?role=view|control`. Each one is a viewer of its own at the
 * controller, with a token that this process requests and no page gets to see; an embedded preview brings its own. A socket lives
 * as long as the sign-in that opened it, at most. Answers how to count those that are open.
 */
export function liveViews(app: FastifyInstance, { url, signIns, controller }: LiveProxyOptions): () => number {
  const sockets = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false, // a JPEG does not get smaller
    maxPayload: LIVE_LIMITS.messageBytesMax,
    handleProtocols: () => LIVE_PROTOCOL,
  });

  function admitted(request: IncomingMessage): Admitted {
    const { pathname = '', searchParams } = URL.parse(request.url ?? '', url.origin) ?? {};
    const sessionId = PATH.exec(pathname)?.[1];
    const wanted = liveRole.safeParse(searchParams?.get('role') ?? 'control').data;
    if (sessionId === undefined || wanted === undefined)
      throw new OmicronError('route_not_found', 'WebSockets are served at /api/browser-sessions/{id}/live only.');
    checkHost(url, request.headers.host);
    requireSameOrigin(url, request.headers.origin);
    const token = liveTokenOf(request.headers['sec-websocket-protocol']);
    if (token !== undefined) return { sessionId, by: 'token', token };
    const signIn = signIns.of(request.headers.cookie);
    if (signIn === undefined) throw new OmicronError('unauthorized', 'You are not signed in.');
    return { sessionId, by: 'sign-in', role: mayAs(signIn.role, 'operator') ? wanted : 'view', signIn };
  }

  function upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const admission = admitted(request);
    sockets.handleUpgrade(request, socket, head, viewer => {
      viewer.on('error', () => viewer.terminate());
      if (admission.by === 'sign-in') closeWith(admission.signIn, viewer);
      tokenOf(controller, admission).then(
        token => pipeBoth(viewer, dialLive(controller, admission.sessionId, token)),
        (error: unknown) => viewer.close(...describeClose(error)),
      );
    });
  }

  app.server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => socket.destroy());
    try {
      upgrade(request, socket, head);
    } catch (error) {
      refuseUpgrade(socket, describeError(error, app.log));
    }
  });
  app.addHook('preClose', done => {
    for (const viewer of sockets.clients) viewer.close(GOING_AWAY, 'the console stops');
    done();
  });
  return () => sockets.clients.size;
}

/** Closes the socket of a person whose sign-in has ended. */
function closeWith(signIn: SignIn, viewer: WebSocket): void {
  const check = setInterval(() => {
    if (!signIn.isOpen()) viewer.close(LIVE_CLOSE.revoked, 'signed out');
  }, CHECK_MS);
  viewer.once('close', () => clearInterval(check));
}

async function tokenOf(controller: ControllerAccess, admitted: Admitted): Promise<string> {
  return admitted.by === 'token'
    ? admitted.token
    : requestLiveToken(controller, admitted.sessionId, admitted.role, admitted.signIn);
}

/** A token for one live view in the name of a person. Throws what the controller refused it with. */
export async function requestLiveToken(
  controller: ControllerAccess,
  sessionId: string,
  role: LiveRole,
  person: SignIn,
): Promise<string> {
  const path = `/internal/browser-sessions/${sessionId}/live-token`;
  const answer = await askController(controller, {
    method: 'POST',
    path,
    body: { role, viewer: person.name, viewer_id: person.id },
    person,
  });
  if (!answer.ok) {
    const { code, detail } = problemSchema.parse(await answer.json());
    throw new OmicronError(code, detail);
  }
  return liveTokenAnswer.parse(await answer.json()).token;
}

/** Opens a live view at the controller. */
export function dialLive({ controllerUrl }: ControllerAccess, sessionId: string, token: string): WebSocket {
  const url = `${controllerUrl.replace(/^http/, 'ws')}/internal/browser-sessions/${sessionId}/live`;
  return new WebSocket(url, [LIVE_PROTOCOL, liveTokenProtocol(token)], DIAL);
}

/** Passes messages on both ways. The slower end slows the other one down: what waits for it would be in the memory that all people share. */
function pipeBoth(viewer: WebSocket, runner: WebSocket): void {
  const pass = (from: WebSocket, to: WebSocket) => {
    let cut: ReturnType<typeof setTimeout> | undefined;
    from.on('message', (data: RawData, isBinary: boolean) => {
      if (to.readyState !== WebSocket.OPEN) return;
      const isFull = () => to.bufferedAmount > WAITING_BYTES_MAX;
      to.send(data, { binary: isBinary }, error => {
        if (!error && isFull()) return;
        clearTimeout(cut);
        from.resume();
      });
      if (!isFull()) return;
      from.pause();
      clearTimeout(cut);
      cut = setTimeout(() => to.terminate(), LIVE_LIMITS.silentSeconds * 1_000);
    });
  };
  pass(viewer, runner);
  pass(runner, viewer);
  runner.on('error', () => undefined); // its close follows
  viewer.once('close', () => runner.close());
  runner.once('close', (code, reason) => {
    if (code >= APPLICATION_CODES) viewer.close(code, reason);
    else viewer.close(TRY_AGAIN, 'the connection to the browser was lost');
  });
  if (viewer.readyState !== WebSocket.OPEN) runner.close();
}

/** The code and the words of a close frame, in ASCII: a character is a byte, and one byte too many is an exception. */
function describeClose(error: unknown): [number, string] {
  const known = error instanceof OmicronError;
  if (!known) return [TRY_AGAIN, 'the browser cannot be reached'];
  const isOver = error.code === 'lease_ended' || error.code === 'session_not_found';
  return [isOver ? LIVE_CLOSE.leaseEnded : TRY_AGAIN, error.message.replace(/[^ -~]/g, '?').slice(0, REASON_BYTES_MAX)];
}
