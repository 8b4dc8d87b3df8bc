import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { httpCalls } from '../../http/call.ts';

const signal = AbortSignal.timeout(60_000);

/** Answers how many connections were made to it. */
async function counting(port = 0): Promise<Server> {
  let connections = 0;
  const server = createServer((_request, response) => response.end(String(connections)));
  server.on('connection', () => {
    connections += 1;
  });
  await once(server.listen(port, '127.0.0.1'), 'listening');
  return server;
}

async function end(server: Server): Promise<void> {
  server.close();
  server.closeAllConnections();
  await once(server, 'close');
}

test('calls share a connection, and make a new one to a server that was restarted', async () => {
  const call = httpCalls();
  const first = await counting();
  const { port } = first.address() as AddressInfo; // it listens on TCP
  const url = `http://127.0.0.1:${port}/`;
  const post = () => call(url, { method: 'POST', body: '{}' }, signal).then(({ text }) => text);
  expect([await post(), await post()]).toEqual(['1', '1']);
  await end(first);
  const second = await counting(port);
  expect(await post()).toBe('1');
  await end(second);
});

test('a call that is cut off in its answer, or takes too long, rejects', async () => {
  const server = createServer((request, response) => {
    if (request.url !== '/cut') return;
    response.writeHead(200, { 'content-length': 10 });
    response.write('12345', () => response.destroy());
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo; // it listens on TCP
  const call = httpCalls();
  await expect(call(`http://127.0.0.1:${port}/cut`, { method: 'GET' }, signal)).rejects.toThrow('aborted');
  const late = AbortSignal.timeout(50);
  await expect(call(`http://127.0.0.1:${port}/late`, { method: 'GET' }, late)).rejects.toThrow();
  await end(server);
});
