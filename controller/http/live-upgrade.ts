import { request as httpRequest, type IncomingMessage, type Server } from 'node:http';
import { type Duplex, pipeline } from 'node:stream';
import type { Logger } from 'pino';
import { liveTokenClaims, liveTokenOf } from '../../contract/live.ts';
import { AUDIENCES } from '../../contract/names.ts';
import { OmicronError, type Problem } from '../../contract/problem.ts';
import { CLOCK_SKEW_SECONDS, type ControllerKeys, verifyControllerToken } from '../../contract/tokens.ts';
import { answerHead, refuseUpgrade } from '../../http/upgrade.ts';
import { type LiveRunner, liveRunner } from '../lease/live-runner.ts';
import type { Directory } from '../store/directory.ts';

export interface LiveRelayOptions {
  readonly publicKeys: ControllerKeys;
  readonly directory: Directory;
  readonly log: Logger;
}

/** Live views that pass through this replica. */
export interface LivePipes {
  /** Closes all of them: their viewers connect again, to another replica. */
  close(): void;
}

const PATH = /^\/internal\/browser-sessions\/([0-9a-f-]{36})\/live$/;
/** For pages in a chat, whose origin is their host's; the token alone admits them. A browser adds nothing of its own to it, no cookie. */
const PUBLIC_PATH = /^\/live\/([0-9a-f-]{36})$/;
/** A runner that does not answer in this time is not reached. */
const DIAL_MS = 5_000;
/** The part of the viewer's request that the runner needs. Not `Origin`: it is judged here, by this server's name. */
const PASSED_ON = ['sec-websocket-key', 'sec-websocket-version', 'sec-websocket-protocol'] as const;

/**
 * Serves the WebSockets of `GET /internal/browser-sessions/{session_id}/live` and `GET /live/{session_id}`: checks the viewer's token, then passes bytes
 * between viewer and runner without reading them; the slower end slows the other one down.
 */
export function pipeLiveViews(server: Server, { publicKeys, directory, log }: LiveRelayOptions): LivePipes {
  const open = new Set<Duplex>();

  async function admitted(request: IncomingMessage): Promise<LiveRunner> {
    const ownId = PATH.exec(request.url ?? '')?.[1];
    const sessionId = ownId ?? PUBLIC_PATH.exec(request.url ?? '')?.[1];
    if (sessionId === undefined)
      throw new OmicronError('route_not_found', 'WebSockets are served at /internal/browser-sessions/{id}/live only.');
    const { origin, host } = request.headers;
    if (ownId !== undefined && origin !== undefined && URL.parse(origin)?.host !== host)
      throw new OmicronError('origin_refused', `Pages of the origin "${origin}" may not open a live view here.`);
    const token = liveTokenOf(request.headers['sec-websocket-protocol']);
    if (token === undefined)
      throw new OmicronError('unauthorized', 'Send the live token as a subprotocol; request one for each connection.');
    const runner = await liveRunner(directory, sessionId, null);
    const audience = AUDIENCES.live(runner.runnerId, runner.bootId);
    const { claims, expMs } = await verifyControllerToken(publicKeys, audience, token, liveTokenClaims);
    const isOver = expMs + CLOCK_SKEW_SECONDS * 1_000 < Date.now();
    if (isOver || claims.session_id !== sessionId || claims.epoch !== runner.session.epoch)
      throw new OmicronError('unauthorized', 'The live token has expired, or is of another lease; request a new one.');
    return runner;
  }

  async function upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const { endpoint } = await admitted(request);
    const dialled = await dial(endpoint, request);
    if (socket.destroyed) {
      dialled.socket.destroy();
      return;
    }
    socket.write(answerHead(101, dialled.response.headers));
    socket.write(dialled.head);
    dialled.socket.write(head);
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    pipeline(socket, dialled.socket, () => dialled.socket.destroy());
    pipeline(dialled.socket, socket, () => socket.destroy());
  }

  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const onError = () => socket.destroy();
    socket.on('error', onError);
    upgrade(request, socket, head).catch((error: unknown) => refuseUpgrade(socket, problemOf(error, log)));
  });
  return {
    close() {
      for (const socket of open) socket.destroy();
    },
  };
}

interface Dialled {
  readonly response: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
}

/** Opens the runner's `/live` with the viewer's handshake. Throws what the runner answers instead. */
function dial(endpoint: string, { headers }: IncomingMessage): Promise<Dialled> {
  const { promise, resolve, reject } = Promise.withResolvers<Dialled>();
  const passed = Object.fromEntries(PASSED_ON.map(name => [name, String(headers[name] ?? '')]));
  const request = httpRequest(`${endpoint}/live`, {
    headers: { ...passed, connection: 'Upgrade', upgrade: 'websocket' },
    signal: AbortSignal.timeout(DIAL_MS),
    agent: false,
  });
  request.on('upgrade', (response, socket, head) => resolve({ response, socket, head }));
  request.on('response', response => {
    response.resume();
    const known = response.statusCode === 401 || response.statusCode === 403;
    reject(
      known
        ? new OmicronError('unauthorized', 'The runner refused the live token; request a new one.')
        : viewUnreachable(`it answered ${response.statusCode}`),
    );
  });
  request.on('error', cause => reject(viewUnreachable(cause.message)));
  request.end();
  return promise;
}

const viewUnreachable = (why: string): OmicronError =>
  new OmicronError('lease_ended', `The browser cannot be watched: ${why}. Request the lease again.`);

function problemOf(error: unknown, log: Logger): Problem {
  if (error instanceof OmicronError) return error.toProblem();
  log.error({ err: error }, 'unexpected error');
  return new OmicronError('internal_error', 'The controller failed; its log has the reason.').toProblem();
}
