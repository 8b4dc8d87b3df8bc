import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { fetchCalls } from '../../http/fetch-calls.ts';

let server: Server;
let url: string;
const asked: (string | undefined)[] = [];
const signal = new AbortController().signal;
const call = fetchCalls(fetch, (_url, method) => method !== 'POST');

beforeAll(async () => {
  // As a replica that stops: the connection of each other request ends without an answer.
  server = createServer((request, response) => {
    if (asked.push(request.method) % 2 === 1) request.socket.destroy();
    else response.end('answered');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // a TCP server has one
});
afterAll(() => {
  server.close();
  server.closeAllConnections();
});

it('sends a call that may be repeated once more, on another connection, and no other call', async () => {
  expect((await call(url, { method: 'DELETE' }, signal)).text).toBe('answered');
  await expect(call(url, { method: 'POST' }, signal)).rejects.toThrow('fetch failed');
  expect(asked).toEqual(['DELETE', 'DELETE', 'POST']);
});

it('does not repeat what is refused at once', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  other.close();
  await expect(call(`http://127.0.0.1:${port}`, { method: 'GET' }, signal)).rejects.toThrow('fetch failed');
});
