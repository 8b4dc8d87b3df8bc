import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { answerSocket, clientClosedSignal } from './client.ts';
import type { OutboundConnections } from './outbound.ts';
import { pipeBoth } from './pipe-both.ts';
import { isRefusal } from './refusal.ts';
import { parseAuthority } from './target.ts';

/** First byte of a TLS record that holds a handshake: <https://www.rfc-editor.org/rfc/rfc8446#section-5.1>. */
const TLS_HANDSHAKE = 0x16;

/** `CONNECT host:port`: a tunnel to one checked address. */
export async function handleConnect(
  outbound: OutboundConnections,
  request: IncomingMessage,
  client: Socket,
  head: Buffer,
): Promise<void> {
  const target = parseAuthority(request.url ?? '', null);
  if (!target) {
    return answerSocket(
      client,
      { refused: 'bad_request', detail: 'CONNECT takes a host name or address and a port' },
      null,
    );
  }
  const wanted = {
    authorization: request.headers['proxy-authorization'],
    target,
    method: 'connect' as const,
    clientClosed: clientClosedSignal(client),
  };
  const connection = await outbound.open(wanted);
  if (isRefusal(connection)) {
    outbound.countRefusal(wanted, connection);
    return answerSocket(client, connection, target);
  }
  const { socket } = connection;
  client.setTimeout(socket.timeout ?? 0);
  client.write('HTTP/1.1 200 Connection established\r\n\r\n');
  if (head.length > 0) client.unshift(head);
  if (connection.tlsOnly && !(await startsTls(client, socket))) {
    if (!client.destroyed && !socket.destroyed)
      outbound.countRefusal(wanted, { refused: 'https_only' }, connection.lease);
    socket.destroy();
    return void client.resetAndDestroy();
  }
  pipeBoth(client, socket);
}

/** Peeks at the client's first byte. False when it is not TLS, or when either side closes first. */
function startsTls(client: Socket, site: Socket): Promise<boolean> {
  return new Promise(done => {
    const settle = (tls: boolean) => {
      client.off('readable', peek).off('close', closed).off('timeout', closed);
      site.off('close', closed).off('error', closed);
      done(tls);
    };
    const closed = () => {
      client.destroy();
      settle(false);
    };
    const peek = () => {
      const first: Buffer | null = client.read();
      if (first === null) return closed();
      client.unshift(first);
      settle(first[0] === TLS_HANDSHAKE);
    };
    client.once('readable', peek).once('close', closed).once('timeout', closed);
    site.once('close', closed).once('error', closed);
  });
}
