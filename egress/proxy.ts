import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { answerSocket } from './client.ts';
import type { ClientPlaces } from './client-places.ts';
import { handleConnect } from './connect.ts';
import { handleRequest, handleUpgrade } from './forward.ts';
import type { OutboundConnections } from './outbound.ts';

export interface ProxyOptions {
  readonly outbound: OutboundConnections;
  readonly places: ClientPlaces;
  /** How long a head may take. */
  readonly headMs: number;
  /** Called with unexpected errors; they never hold a header. */
  readonly onBug: (cause: unknown) => void;
}

export interface EgressProxy {
  listen(host: string, port: number): Promise<AddressInfo>;
  /** Takes no new connection; open ones may end by themselves until the deadline, then they are closed. */
  stop(graceMs: number): Promise<void>;
}

/** Cookies of large sites pass 16 KiB, node's default. */
const HEADER_BYTES_MAX = 64 * 1024;
const KEEP_ALIVE_MS = 60_000;

/** The proxy's HTTP server: requests in absolute form, CONNECT and websockets; anything else is refused. */
export function egressProxy({ outbound, places, headMs, onBug }: ProxyOptions): EgressProxy {
  const server = createServer({
    maxHeaderSize: HEADER_BYTES_MAX,
    headersTimeout: headMs,
    requestTimeout: 0, // uploads may be long; an idle one is cut by the site socket's timeout
    keepAliveTimeout: KEEP_ALIVE_MS,
    connectionsCheckingInterval: Math.min(2000, headMs),
    requireHostHeader: false, // the URL's authority counts
    insecureHTTPParser: false,
    noDelay: true,
    shouldUpgradeCallback: request => request.headers.upgrade?.toLowerCase() === 'websocket',
  });
  server.on('connection', client => places.enter(client));
  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    const client = request.socket; // node:http takes it away from an answered request
    if (!places.begin(client)) return void client.destroy();
    response.once('close', () => places.finish(client));
    handleRequest(outbound, request, response).catch(cause => {
      onBug(cause);
      response.destroy();
    });
  };
  server.on('request', serve);
  server.on('checkExpectation', serve); // node:http would answer 417 itself, to clients without a credential too
  server.on('connect', (request, client: Socket, head) => {
    if (!places.begin(client)) return void client.destroy(); // busy until it closes
    handleConnect(outbound, request, client, head).catch(cause => {
      onBug(cause);
      client.destroy();
    });
  });
  server.on('upgrade', (request, client: Socket, head) => {
    if (!places.begin(client)) return void client.destroy();
    handleUpgrade(outbound, request, client, head).catch(cause => {
      onBug(cause);
      client.destroy();
    });
  });
  server.on('clientError', (_error, client: Socket) => answerSocket(client, { refused: 'bad_request' }, null));

  return {
    async listen(host, port) {
      await new Promise<void>((listening, failed) => {
        server.once('error', failed);
        server.listen(port, host, listening);
      });
      return server.address() as AddressInfo; // a TCP server that listens has one
    },
    async stop(graceMs) {
      const closed = new Promise<void>(done => server.close(() => done()));
      const timer = setTimeout(() => places.closeAll(), graceMs);
      server.closeIdleConnections();
      await closed;
      clearTimeout(timer);
    },
  };
}
