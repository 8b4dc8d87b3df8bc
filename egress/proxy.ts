import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { answerSocket } from './client.ts';
import { handleConnect } from './connect.ts';
import { handleRequest, handleUpgrade } from './forward.ts';
import type { OutboundConnections } from './outbound.ts';

export interface ProxyOptions {
  readonly outbound: OutboundConnections;
  /** Sockets of clients, tunnels included, over all leases. */
  readonly clientsMax: number;
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
const HEADERS_MS = 10_000;
const KEEP_ALIVE_MS = 60_000;

/** The proxy's HTTP server: requests in absolute form, CONNECT and websockets; anything else is refused. */
export function egressProxy({ outbound, clientsMax, onBug }: ProxyOptions): EgressProxy {
  const clients = new Set<Socket>();
  const server = createServer({
    maxHeaderSize: HEADER_BYTES_MAX,
    headersTimeout: HEADERS_MS,
    requestTimeout: 0, // uploads may be long; an idle one is cut by the site socket's timeout
    keepAliveTimeout: KEEP_ALIVE_MS,
    connectionsCheckingInterval: 2000,
    requireHostHeader: false, // the URL's authority counts
    insecureHTTPParser: false,
    noDelay: true,
    shouldUpgradeCallback: request => request.headers.upgrade?.toLowerCase() === 'websocket',
  });
  server.maxConnections = clientsMax;
  server.on('connection', client => {
    clients.add(client);
    client.once('close', () => clients.delete(client));
  });
  server.on('request', (request, response) => {
    handleRequest(outbound, request, response).catch(cause => {
      onBug(cause);
      response.destroy();
    });
  });
  server.on('connect', (request, client: Socket, head) => {
    handleConnect(outbound, request, client, head).catch(cause => {
      onBug(cause);
      client.destroy();
    });
  });
  server.on('upgrade', (request, client: Socket, head) => {
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
      const timer = setTimeout(() => {
        for (const client of clients) client.destroy();
      }, graceMs);
      server.closeIdleConnections();
      await closed;
      clearTimeout(timer);
    },
  };
}
