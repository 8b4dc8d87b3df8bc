import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Logger } from 'pino';
import { WebSocketServer } from 'ws';
import { liveTokenOf } from '../contract/live.ts';
import { LIVE_LIMITS, LIVE_PROTOCOL } from '../contract/live-limits.ts';
import { OmicronError, type Problem } from '../contract/problem.ts';
import { refuseUpgrade } from '../http/upgrade.ts';
import { checkOrigin } from './mcp/origin.ts';
import type { Runner } from './runner.ts';

export interface LiveUpgradeOptions {
  /** Origins whose pages may open a live view too. */
  readonly origins: readonly string[];
  readonly log: Logger;
}

/** Serves `/live`: WebSockets of viewers, each with a token of its own among its subprotocols. */
export function serveLive(
  server: Server,
  runner: Pick<Runner, 'liveView'>,
  { origins, log }: LiveUpgradeOptions,
): void {
  const sockets = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false, // a JPEG does not get smaller
    maxPayload: LIVE_LIMITS.messageBytesMax,
    handleProtocols: () => LIVE_PROTOCOL,
  });

  async function upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    if (request.url !== '/live') throw new OmicronError('route_not_found', 'A runner serves WebSockets at /live only.');
    checkOrigin(request.headers, origins);
    const { live, claims } = await runner.liveView(liveTokenOf(request.headers['sec-websocket-protocol']));
    sockets.handleUpgrade(request, socket, head, webSocket => live.connect(webSocket, claims));
  }

  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const onError = () => socket.destroy();
    socket.on('error', onError);
    upgrade(request, socket, head).then(
      () => socket.off('error', onError),
      (error: unknown) => refuseUpgrade(socket, problemOf(error, log)),
    );
  });
}

function problemOf(error: unknown, log: Logger): Problem {
  if (error instanceof OmicronError) return error.toProblem();
  log.error({ err: error }, 'unexpected error');
  return new OmicronError('internal_error', 'The runner failed; its log has the reason.').toProblem();
}
