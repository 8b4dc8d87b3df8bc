import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { PROXY_TRACEPARENT } from '../contract/egress.ts';
import { answerSocket, clientClosedSignal } from './client.ts';
import { hasBody } from './headers.ts';
import type { OutboundConnections } from './outbound.ts';
import { pipeBoth } from './pipe-both.ts';
import { isRefusal } from './refusal.ts';
import { parseAuthority } from './target.ts';

/**
 * A TLS record that holds a handshake: type 22, version 3.x: <https://www.rfc-editor.org/rfc/rfc8446#section-5.1>.
 */
const TLS_HANDSHAKE = Buffer.from([0x16, 0x03]);

/** Whether bytes begin TLS; undefined while there are too few to say. */
function beginsTls(bytes: Buffer): boolean | undefined {
  const known = Math.min(bytes.length, TLS_HANDSHAKE.length);
  if (!bytes.subarray(0, known).equals(TLS_HANDSHAKE.subarray(0, known))) return false;
  return known === TLS_HANDSHAKE.length ? true : undefined;
}

/** `CONNECT host:port`: a tunnel to one checked address. */
export async function handleConnect(
  outbound: OutboundConnections,
  request: IncomingMessage,
  client: Socket,
  head: Buffer,
): Promise<void> {
  const bad = (detail: string) => answerSocket(client, { refused: 'bad_request', detail }, null);
  const target = parseAuthority(request.url ?? '', null);
  if (!target) return bad('CONNECT takes a host name or address and a port');
  if (hasBody(request)) return bad('CONNECT has no body');
  const wanted = {
    authorization: request.headers['proxy-authorization'],
    traceparent: request.headers[PROXY_TRACEPARENT],
    target,
    method: 'connect' as const,
    client,
    clientClosed: clientClosedSignal(client),
  };
  const connection = await outbound.open(wanted);
  if (isRefusal(connection)) {
    outbound.countRefusal(wanted, connection);
    return answerSocket(client, connection, target);
  }
  const { socket, slot } = connection;
  client.setTimeout(socket.timeout ?? 0);
  client.write('HTTP/1.1 200 Connection established\r\n\r\n');
  if (head.length > 0) client.unshift(head);
  if (slot.tlsOnly && !(await startsTls(client, socket, outbound.headMs))) {
    if (!client.destroyed && !socket.destroyed)
      outbound.countRefusal(wanted, { refused: 'https_only' }, connection.lease);
    socket.destroy();
    return void client.resetAndDestroy();
  }
  // Also a client that still reads what the site has sent: nothing of a forbidden tunnel is left open.
  slot.signal.addEventListener('abort', () => client.resetAndDestroy(), { once: true });
  if (!slot.tlsOnly) onTls(client, slot.tlsBegan);
  pipeBoth(client, socket);
}

/** Calls `began` if the client's first bytes are TLS, and leaves them to the tunnel. */
function onTls(client: Socket, began: () => void): void {
  let first = Buffer.alloc(0);
  const look = (chunk: Buffer) => {
    first = Buffer.concat([first, chunk.subarray(0, TLS_HANDSHAKE.length)]);
    const tls = beginsTls(first);
    if (tls !== undefined) client.off('data', look);
    if (tls) began();
  };
  client.on('data', look);
}

/** Peeks at the client's first bytes. False when they are not TLS, when either side closes first, or after `withinMs`. */
function startsTls(client: Socket, site: Socket, withinMs: number): Promise<boolean> {
  return new Promise(done => {
    let first = Buffer.alloc(0);
    const settle = (tls: boolean) => {
      clearTimeout(timer);
      client.off('readable', peek).off('close', closed).off('timeout', closed);
      site.off('close', closed).off('error', closed);
      if (tls) client.unshift(first);
      done(tls);
    };
    const closed = () => {
      client.destroy();
      settle(false);
    };
    const peek = () => {
      const more: Buffer | null = client.read();
      if (more === null) return closed();
      first = Buffer.concat([first, more]);
      const tls = beginsTls(first);
      if (tls !== undefined) settle(tls);
    };
    const timer = setTimeout(closed, withinMs);
    client.on('readable', peek).once('close', closed).once('timeout', closed);
    site.once('close', closed).once('error', closed);
  });
}
