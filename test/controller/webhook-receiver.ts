import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import type { StreamedEvent } from '../../contract/event-stream.ts';
import type { TestCertificate } from '../site/certificate.ts';

export interface Received {
  readonly id: string;
  readonly timestamp: string;
  readonly signature: string;
  readonly text: string;
  readonly type: string;
  readonly event: StreamedEvent;
  readonly path: string;
}

/** An endpoint of a webhook: it keeps what it was sent, and answers as a test says. */
export async function webhookReceiver(certificate?: TestCertificate) {
  const received: Received[] = [];
  const answer: { with: (received: Received) => number | Promise<number> } = { with: () => 204 };
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part);
    const text = Buffer.concat(parts).toString();
    const header = (name: string) => String(request.headers[name]);
    const { type, data } = JSON.parse(text);
    const one: Received = {
      id: header('webhook-id'),
      timestamp: header('webhook-timestamp'),
      signature: header('webhook-signature'),
      text,
      type,
      event: data,
      path: request.url ?? '',
    };
    received.push(one);
    const status = await answer.with(one);
    response.writeHead(status, { location: 'http://127.0.0.1:1/elsewhere' }).end('taken');
  };
  const server = certificate
    ? createSecureServer({ key: certificate.key, cert: certificate.cert }, handle)
    : createServer(handle);
  server.keepAliveTimeout = 0; // connections are the sender's to close
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo; // it listens on TCP
  return {
    url: `${certificate ? 'https' : 'http'}://127.0.0.1:${port}/hooks?key=1`,
    port,
    received,
    answer,
    /** The numbers of a test's events, in the order in which they came. */
    numbers: () => received.map(({ event }) => event.data?.n).filter(n => typeof n === 'number'),
    /** Connections that a sender holds open. */
    connections: () =>
      new Promise<number>((resolve, reject) =>
        server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
      ),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise(done => server.close(done));
    },
  };
}
export type Receiver = Awaited<ReturnType<typeof webhookReceiver>>;

/** As a receiver verifies, with the library of the form. */
export function isSignedBy(secret: string, { id, timestamp, signature, text }: Received): boolean {
  try {
    new Webhook(secret).verify(text, {
      'webhook-id': id,
      'webhook-timestamp': timestamp,
      'webhook-signature': signature,
    });
    return true;
  } catch {
    return false;
  }
}
