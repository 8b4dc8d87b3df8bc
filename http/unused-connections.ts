import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Follows connections on which no request has come yet, and answers how to end them. Node counts them as busy, so that the end of a server
 * waits for them: up to `headersTimeout`, a minute, and what is left until its next check.
 */
export function trackUnusedConnections(server: Server): () => void {
  const unused = new Set<Socket>();
  server.on('connection', socket => {
    unused.add(socket);
    socket.once('close', () => unused.delete(socket));
  });
  for (const event of ['request', 'upgrade'] as const)
    server.on(event, ({ socket }: { socket: Socket }) => unused.delete(socket));
  return () => {
    for (const socket of unused) socket.destroy();
  };
}
