import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Console, startConsole } from '../../console/server/console.ts';
import { freePort } from '../../local/free-port.ts';

let console: Console;
beforeAll(async () => {
  console = await startConsole({
    url: `http://127.0.0.1:${await freePort()}`,
    controllerUrl: 'http://127.0.0.1:9',
    ...{ serviceSecret: 'x'.repeat(32), log: pino({ level: 'silent' }) },
  });
});
afterAll(() => console?.stop());

it.each([
  ['bytes that are no HTTP', '\0\u0001garbage\r\n\r\n', 'well-formed HTTP'],
  ['two lengths', 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n', 'well-formed HTTP'],
  ['headers that are too long', `GET / HTTP/1.1\r\nhost: x\r\nx: ${'x'.repeat(40_000)}\r\n\r\n`, '16 KiB'],
])('answers %s with a problem document that no browser reads as another type', async (_, sent, says) => {
  const { port } = new URL(console.url);
  const socket = connect(Number(port), '127.0.0.1').on('error', () => undefined);
  socket.write(sent);
  const answer = await text(socket);
  expect(answer).toMatch(/^HTTP\/1\.1 400 /);
  expect(answer).toContain('content-type: application/problem+json');
  expect(answer).toContain('x-content-type-options: nosniff');
  expect(answer).toContain(says);
});
