import { createServer, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Requests to the store. */
export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string>>;
  /** In S3's words, e.g. `UploadPart`; STS's action. */
  readonly action: string;
}

/**
 * `down`: no answer, and the store hears nothing. `deaf`: the store hears it, the answer is lost. A number: that
 * status. `unknown`: what S3 says of an upload that was aborted (moto fails there).
 */
export type Fate = 'pass' | 'down' | 'deaf' | 'unknown' | number;

/** S3 and STS behind a wire that sees every request and may fail it. */
export interface Front extends AsyncDisposable {
  readonly port: number;
  readonly asked: Asked[];
  /** Decides over each request; passes them until set. */
  fate: (asked: Asked) => Fate;
  actions(): string[];
}

export async function storeFront(host: string, storePort: number): Promise<Front> {
  const server = createServer(async (request, response) => {
    const reading = request.toArray().catch(() => []);
    // In the order of their arrival; only a POST has its action in its body.
    const form = request.method === 'POST' ? Buffer.concat(await reading) : Buffer.alloc(0);
    const url = new URL(request.url ?? '/', 'http://store');
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
    const about = { method: request.method ?? '', path: url.pathname, query: url.searchParams, headers };
    const asked = { ...about, action: actionOf(about, form) };
    const fate = front.fate(asked);
    front.asked.push(asked);
    const body = Buffer.concat(await reading);
    if (fate === 'down') return void request.socket.destroy();
    if (fate === 'unknown')
      return void response
        .writeHead(404, { 'content-type': 'application/xml' })
        .end('<Error><Code>NoSuchUpload</Code><Message>The specified upload does not exist.</Message></Error>');
    if (typeof fate === 'number') return void response.writeHead(fate).end();
    const onward = send(
      { host: '127.0.0.1', port: storePort, method: about.method, path: request.url, headers: request.headers },
      answer => {
        if (fate === 'deaf') return void answer.resume().once('end', () => request.socket.destroy());
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      },
    );
    onward.on('error', () => response.destroy());
    onward.end(body);
  });
  await new Promise<void>(listening => server.listen(0, host, listening));
  const front: Front = {
    port: (server.address() as AddressInfo).port, // a TCP server that listens has one
    asked: [],
    fate: () => 'pass',
    actions: () => front.asked.map(({ action }) => action),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise(closed => server.close(closed));
    },
  };
  return front;
}

function actionOf({ method, query }: Omit<Asked, 'action' | 'path' | 'headers'>, body: Buffer): string {
  if (method === 'POST' && query.has('uploads')) return 'CreateMultipartUpload';
  if (method === 'POST' && query.has('uploadId')) return 'CompleteMultipartUpload';
  if (method === 'POST') return new URLSearchParams(body.toString('latin1')).get('Action') ?? 'unknown';
  if (method === 'PUT') return query.has('partNumber') ? 'UploadPart' : 'PutObject';
  if (method === 'DELETE' && query.has('uploadId')) return 'AbortMultipartUpload';
  return method;
}
