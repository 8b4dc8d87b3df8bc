import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { trackUnusedConnections } from '../../http/unused-connections.ts';

async function started(answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const server = createServer(answer);
  const endUnused = trackUnusedConnections(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const open = async (): Promise<Socket> => {
    const arrived = once(server, 'connection');
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1'); // it listens on TCP
    await arrived;
    return socket;
  };
  return { server, endUnused, open };
}

it('a server ends beside a connection that never sent a request', async () => {
  const { server, endUnused, open } = await started((_, response) => response.end());
  const silent = await open();
  const closed = once(silent, 'close');
  const ended = new Promise(resolve => server.close(resolve));
  endUnused();
  await Promise.all([ended, closed]);
});

it('a connection whose request is being answered stays', async () => {
  const requests: ServerResponse[] = [];
  const { endUnused, open } = await started((_, response) => requests.push(response));
  const busy = await open();
  busy.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  await expect.poll(() => requests.length).toBe(1);
  endUnused();
  requests[0]?.end('answered');
  const [data] = await once(busy, 'data');
  expect(String(data)).toContain('200 OK');
});
