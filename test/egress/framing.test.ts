import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ProxyNetwork, proxyNetwork } from './proxy-network.ts';
import { exchange, parseAnswer } from './raw-client.ts';
import { PUBLIC_ADDRESS } from './sites.ts';

/** The proxy's output to sites and clients, byte by byte: each message must say where it ends. */
let network: ProxyNetwork;
let rawSite: Server;
let port: number;
/** The raw site's input, one text per connection. */
const heard: string[] = [];
let answerBytes = 'HTTP/1.1 204 No Content\r\n\r\n';

beforeAll(async () => {
  network = await proxyNetwork({});
  rawSite = createServer((socket: Socket) => {
    const place = heard.push('') - 1;
    socket
      .on('error', () => {})
      .on('data', chunk => {
        heard[place] += chunk.toString('latin1');
        if (ended(heard[place] ?? '')) socket.end(answerBytes, 'latin1');
      });
  });
  await new Promise<void>(listening => rawSite.listen(0, PUBLIC_ADDRESS, listening));
  port = (rawSite.address() as AddressInfo).port; // a TCP server that listens has one
});
afterAll(async () => {
  await network.close();
  await new Promise(closed => rawSite.close(closed));
});

/** The body that a message's own framing gives, and what follows it; null when the head is not complete. */
function framed(text: string): { head: string; body: string; rest: string } | null {
  const end = text.indexOf('\r\n\r\n');
  if (end === -1) return null;
  const [head, after] = [text.slice(0, end), text.slice(end + 4)];
  const length = /^content-length: *([0-9]+)$/im.exec(head)?.[1];
  if (length !== undefined) return { head, body: after.slice(0, Number(length)), rest: after.slice(Number(length)) };
  if (!/^transfer-encoding: *chunked$/im.test(head)) return { head, body: '', rest: after };
  let body = '';
  for (let at = 0; ; ) {
    const line = after.indexOf('\r\n', at);
    if (line === -1) return null;
    const size = Number.parseInt(after.slice(at, line), 16);
    body += after.slice(line + 2, line + 2 + size);
    at = line + 2 + size + 2;
    if (size === 0) return { head, body, rest: after.slice(at) };
  }
}

const ended = (text: string): boolean => {
  const message = framed(text);
  const length = /^content-length: *([0-9]+)$/im.exec(message?.head ?? '')?.[1];
  return message !== null && (length === undefined || message.body.length === Number(length));
};

const send = async (method: string, lines: string, body: string) => {
  const before = heard.length;
  const { auth } = network.lease({ ports: [port] });
  const head = `${method} http://site.test:${port}/x HTTP/1.1\r\nHost: x\r\n${auth}${lines}`;
  const text = await exchange(network.egress.port, `${head}Connection: close\r\n\r\n${body}`);
  return { answer: parseAnswer(text), text, heard: heard.slice(before) };
};

describe('a request whose Connection names what frames it', () => {
  const named = ['Content-Length', 'content-length, close', 'close,  CONTENT-LENGTH ', 'Transfer-Encoding', 'host'];
  const cases = named.flatMap(name => ['GET', 'POST', 'DELETE', 'OPTIONS'].map(method => [method, name] as const));
  it.each(cases)('is refused: %s with Connection: %s', async (method, name) => {
    const smuggled = 'GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n';
    const lines = `Connection: ${name}\r\nContent-Length: ${smuggled.length}\r\n`;
    const { answer, heard: seen } = await send(method, lines, smuggled);
    expect(answer).toMatchObject({ status: 400, refusal: 'bad_request' });
    expect(answer.body).toContain('Connection');
    expect(seen).toEqual([]);
  });

  it('is refused for a chunked body too', async () => {
    const lines = 'Connection: transfer-encoding\r\nTransfer-Encoding: chunked\r\n';
    const { answer, heard: seen } = await send('GET', lines, '3\r\nabc\r\n0\r\n\r\n');
    expect(answer.refusal).toBe('bad_request');
    expect(seen).toEqual([]);
  });
});

it.each(['Content-Length: 5', 'Transfer-Encoding: chunked'])(
  'refuses a handshake and a CONNECT that bring a body: %s',
  async framing => {
    const before = heard.length;
    const { auth } = network.lease({ ports: [port] });
    const upgrade = 'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n';
    for (const head of [
      `GET http://site.test:${port}/ HTTP/1.1\r\nHost: x\r\n${auth}${upgrade}`,
      `CONNECT site.test:${port} HTTP/1.1\r\nHost: x\r\n${auth}`,
    ]) {
      const text = await exchange(network.egress.port, `${head}${framing}\r\n\r\nhello`);
      expect(parseAnswer(text)).toMatchObject({ status: 400, refusal: 'bad_request' });
    }
    expect(heard.slice(before)).toEqual([]);
  },
);

it.each(['Content-Length', 'Transfer-Encoding', 'close, content-length'])(
  'keeps the end of an answer whose Connection names %s',
  async name => {
    answerBytes = `HTTP/1.1 200 OK\r\nConnection: ${name}\r\nContent-Length: 5\r\n\r\nhello`;
    const { text } = await send('GET', '', '');
    expect(framed(text)).toMatchObject({ body: 'hello', rest: '' });
    answerBytes = `HTTP/1.1 200 OK\r\nConnection: ${name}\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`;
    expect(framed((await send('GET', '', '')).text)).toMatchObject({ body: 'hello', rest: '' });
  },
);

it('passes on either nothing or one message with the same body, whatever the headers of it', async () => {
  answerBytes = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
  const spelt = (name: string) => fc.constantFrom(name, name.toLowerCase(), name.toUpperCase());
  const token = fc.constantFrom(
    'Content-Length',
    'Transfer-Encoding',
    'TE',
    'Trailer',
    'Upgrade',
    'Host',
    'X-A',
    'close',
  );
  const connection = fc
    .array(token.chain(spelt), { minLength: 1, maxLength: 3 })
    .map(tokens => `Connection: ${tokens.join(', ')}\r\n`);
  const other = fc.constantFrom(
    'X-A: b\r\n',
    'TE: trailers\r\n',
    'Trailer: X-B\r\n',
    'Keep-Alive: 5\r\n',
    'Expect: \r\n',
  );
  const cases = fc.record({
    method: fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'PROPFIND'),
    fields: fc.array(fc.oneof(connection, other), { maxLength: 4 }),
    body: fc.constantFrom('', 'hello', 'GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n'),
    chunked: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(cases, async ({ method, fields, body, chunked }) => {
      const framing = chunked ? 'Transfer-Encoding: chunked\r\n' : `Content-Length: ${body.length}\r\n`;
      const bytes = chunked ? `${body && `${body.length.toString(16)}\r\n${body}\r\n`}0\r\n\r\n` : body;
      const { answer, heard: seen } = await send(method, fields.join('') + framing, bytes);
      if (answer.refusal === 'bad_request') {
        expect(seen).toEqual([]);
        return;
      }
      expect(answer.status).toBe(200);
      expect(seen).toHaveLength(1);
      expect(framed(seen[0] ?? '')).toMatchObject({ body, rest: '' });
    }),
    { numRuns: 300 },
  );
});
