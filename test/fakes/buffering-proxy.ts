import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Copied from neither side: they belong to one connection. */
const HOP_BY_HOP = new Set(['connection', 'transfer-encoding', 'content-length', 'keep-alive', 'host']);

/** A reverse proxy that passes an answer on when it is whole, as one in front of a service does by default. */
export async function bufferingProxy(target: string): Promise<{ readonly url: string } & AsyncDisposable> {
  const server: Server = createServer(async (request, response) => {
    try {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk);
      const headers = Object.entries(request.headersDistinct).flatMap(([name, values = []]) =>
        HOP_BY_HOP.has(name) ? [] : values.map((value): [string, string] => [name, value]),
      );
      const answer = await fetch(new URL(request.url ?? '/', target), {
        method: request.method ?? 'GET',
        headers,
        ...(chunks.length > 0 ? { body: Buffer.concat(chunks) } : {}),
      });
      const body = Buffer.from(await answer.arrayBuffer());
      for (const [name, value] of answer.headers) if (!HOP_BY_HOP.has(name)) response.setHeader(name, value);
      response.writeHead(answer.status).end(body);
    } catch {
      response.destroy();
    }
  });
  await new Promise<void>(listening => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo; // a TCP server that listens has one
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise(closed => server.close(closed));
    },
  };
}
