import { type AddressInfo, createServer, type Socket } from 'node:net';

export interface RawConnection {
  readonly socket: Socket;
  /** The address that was connected to. */
  readonly local: string;
  /** Heads of the requests, in their order. */
  readonly heard: string[];
}

export interface RawSite {
  readonly port: number;
  /** In the order of their opening. */
  connections: RawConnection[];
  /** The site's answer to a request without a body: `answer('ok')` unless a test says otherwise. */
  serve: (socket: Socket, head: string) => void;
  /** Forgets what was heard, and serves as at first. */
  reset(): void;
  close(): Promise<void>;
}

/** An answer that keeps the connection. */
export const answer = (body: string, more = ''): string =>
  `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n${more}\r\n${body}`;

/** A server that counts its connections and writes what a test orders, byte by byte. */
export async function rawSite(address: string): Promise<RawSite> {
  const open = new Set<Socket>();
  const server = createServer(socket => {
    open.add(socket.once('close', () => open.delete(socket)));
    const connection = { socket, local: socket.localAddress ?? '', heard: [] as string[] };
    site.connections.push(connection);
    let text = '';
    socket
      .on('error', () => {})
      .on('data', chunk => {
        text += chunk.toString('latin1');
        for (let end = text.indexOf('\r\n\r\n'); end !== -1; end = text.indexOf('\r\n\r\n')) {
          const head = text.slice(0, end);
          connection.heard.push(head);
          text = text.slice(end + 4);
          site.serve(socket, head);
        }
      });
  });
  await new Promise<void>(listening => server.listen(0, address, listening));
  const site: RawSite = {
    port: (server.address() as AddressInfo).port, // a TCP server that listens has one
    connections: [],
    serve: () => {},
    reset() {
      site.connections = [];
      site.serve = socket => socket.write(answer('ok'));
    },
    close() {
      for (const socket of open) socket.destroy();
      return new Promise<void>(closed => server.close(() => closed()));
    },
  };
  site.reset();
  return site;
}
