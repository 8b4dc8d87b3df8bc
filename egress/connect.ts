import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { answerSocket, goneSignal } from './client.ts';
import type { Passages } from './passage.ts';
import { isRefusal } from './refusal.ts';
import { splice } from './splice.ts';
import { parseAuthority } from './target.ts';

/** First byte of a TLS record that holds a handshake: <https://www.rfc-editor.org/rfc/rfc8446#section-5.1>. */
const TLS_HANDSHAKE = 0x16;

/** `CONNECT host:port`: a tunnel to one judged address. */
export async function handleConnect(
  passages: Passages,
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
  const ask = {
    authorization: request.headers['proxy-authorization'],
    target,
    method: 'connect' as const,
    gone: goneSignal(client),
  };
  const passage = await passages.open(ask);
  if (isRefusal(passage)) {
    passages.refused(ask, passage);
    return answerSocket(client, passage, target);
  }
  const { socket } = passage;
  client.setTimeout(socket.timeout ?? 0);
  client.write('HTTP/1.1 200 Connection established\r\n\r\n');
  if (head.length > 0) client.unshift(head);
  if (passage.tlsOnly && !(await startsTls(client, socket))) {
    if (!client.destroyed && !socket.destroyed) passages.refused(ask, { refused: 'https_only' }, passage.lease);
    socket.destroy();
    return void client.resetAndDestroy();
  }
  splice(client, socket);
}

/** Looks at the first byte of the client without taking it; false when it, or either side, is gone. */
function startsTls(client: Socket, site: Socket): Promise<boolean> {
  return new Promise(done => {
    const settle = (tls: boolean) => {
      client.off('readable', look).off('close', gone).off('timeout', gone);
      site.off('close', gone).off('error', gone);
      done(tls);
    };
    const gone = () => {
      client.destroy();
      settle(false);
    };
    const look = () => {
      const first: Buffer | null = client.read();
      if (first === null) return gone();
      client.unshift(first);
      settle(first[0] === TLS_HANDSHAKE);
    };
    client.once('readable', look).once('close', gone).once('timeout', gone);
    site.once('close', gone).once('error', gone);
  });
}
