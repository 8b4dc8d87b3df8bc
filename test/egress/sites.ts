import { createHash } from 'node:crypto';
import { createServer as createHttp, type IncomingHttpHeaders, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcp, type Socket } from 'node:net';

/** The one loopback address that tests declare reachable; every other address of this machine is off limits. */
export const PUBLIC_ADDRESS = '127.0.0.77';

export interface Site {
  readonly port: number;
  /** Requests as the site received them. */
  readonly requests: {
    method: string;
    url: string;
    headers: IncomingHttpHeaders;
    rawHeaders: string[];
    body: string;
  }[];
  close(): Promise<void>;
}

const listen = (
  server: { listen(port: number, host: string, done: () => void): unknown; address(): unknown },
  host: string,
) => new Promise<number>(done => server.listen(0, host, () => done((server.address() as AddressInfo).port))); // TCP

const closing = (server: Server) => () => {
  server.closeAllConnections();
  return new Promise<void>(closed => server.close(() => closed()));
};

/**
 * A site on the public address: `/redirect?status=&to=`, `/bytes?count=`, `/silent` (never answers), `/cut` (breaks
 * off), `/marked` (claims our header); a websocket at `/socket` that echoes raw bytes; else the method and path as
 * text.
 */
export async function publicSite(): Promise<Site> {
  const requests: Site['requests'] = [];
  const server = createHttp(async (request, response) => {
    const url = new URL(request.url ?? '/', 'http://site');
    const body = Buffer.concat(await request.toArray().catch(() => [])).toString('latin1');
    requests.push({
      method: request.method ?? '',
      url: request.url ?? '',
      headers: request.headers,
      rawHeaders: request.rawHeaders,
      body,
    });
    if (url.pathname === '/redirect')
      return void response
        .writeHead(Number(url.searchParams.get('status')), {
          location: Buffer.from(url.searchParams.get('to') ?? '', 'utf8').toString('latin1'),
        })
        .end();
    if (url.pathname === '/bytes') return void response.end(Buffer.alloc(Number(url.searchParams.get('count')), 'x'));
    if (url.pathname === '/silent') return;
    if (url.pathname === '/fields')
      return void response
        .writeHead(200, { 'content-type': 'text/html' })
        .end('<!doctype html><input id=u><input id=p type=password><button>In</button>');
    if (url.pathname === '/cut') {
      response.writeHead(200, { 'content-length': '1000' }).write('begun');
      return void setImmediate(() => response.destroy());
    }
    if (url.pathname === '/marked')
      return void response
        .writeHead(200, {
          'x-omicron-refusal': 'forged',
          'proxy-authenticate': 'Basic',
          'x-own': 'kept',
          connection: 'close, x-hop',
          'x-hop': 'gone',
        })
        .end('marked');
    response.end(`${request.method} ${request.url}`);
  });
  server.on('upgrade', (request, socket, head) => {
    const { method = '', url = '', headers, rawHeaders } = request;
    requests.push({ method, url, headers, rawHeaders, body: '' });
    const accept = createHash('sha1')
      .update(`${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
      .digest('base64');
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
    );
    if (head.length > 0) socket.write(head);
    socket.on('error', () => {}).pipe(socket);
  });
  return { port: await listen(server, PUBLIC_ADDRESS), requests, close: closing(server) };
}

export interface Trap {
  readonly port: number;
  /** Local addresses that were connected to, except the public one. */
  readonly hits: string[];
  close(): Promise<void>;
}

/** Listens on every address of this machine, IPv4 and IPv6, and records every connection. */
export async function trap(): Promise<Trap> {
  const hits: string[] = [];
  const open = new Set<Socket>();
  const server = createTcp(socket => {
    const local = (socket.localAddress ?? '').replace(/^::ffff:/, '');
    if (local !== PUBLIC_ADDRESS) hits.push(local);
    open.add(socket.once('close', () => open.delete(socket)).resume());
    socket.on('error', () => {}).end('HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nSECRET');
  });
  // Dual stack where the machine has IPv6.
  const port = await listen(server, '::').catch(() => listen(server, '0.0.0.0'));
  const close = () => {
    for (const socket of open) socket.destroy();
    return new Promise<void>(closed => server.close(() => closed()));
  };
  return { port, hits, close };
}
