import { once } from 'node:events';
import { createServer, type RequestListener, request as sendRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { passOn } from '../../http/pass-on.ts';

async function listen(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // listens on TCP
}

test.each(['close', 'keep-alive', 'close, x-secret', 'content-length'])(
  'what a client says of its own connection is not passed on: %s',
  async connection => {
    const seen: unknown[] = [];
    const url = await listen(async (request, response) => {
      const body = await text(request);
      seen.push([request.headers['x-secret'], request.headers['x-mine'], body]);
      // as libraries for event streams do
      response.writeHead(200, { connection: 'keep-alive' }).end(body);
    });
    const front = await listen((request, response) => passOn(request, response, new URL(url)));
    const headers = { connection, 'x-secret': 'hop', 'x-mine': 'end' };
    for (const body of ['one', 'two', 'three']) {
      const length = { 'content-length': body.length };
      const request = sendRequest(front, { method: 'POST', headers: { ...headers, ...length }, agent: false }).end(
        body,
      );
      const [answer] = await once(request, 'response');
      expect([answer.statusCode, await text(answer)]).toEqual([200, body]);
    }
    const hop = connection.includes('x-secret') ? undefined : 'hop';
    expect(seen).toEqual(['one', 'two', 'three'].map(body => [hop, 'end', body]));
  },
);
