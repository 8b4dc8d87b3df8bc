import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { expect } from 'vitest';
import { eventually } from '../eventually.ts';
import type { FakeController } from '../fakes/controller.ts';
import { callText, type RunnerProcess } from './start.ts';
import { startLease } from './start-lease.ts';

/** A lease of a runner with little memory, and a site whose pages exhaust it, or download without an end. */
export interface AttackedLease extends AsyncDisposable {
  readonly site: string;
  readonly controller: FakeController;
  readonly runner: RunnerProcess;
  readonly client: Client;
  /** Address of the page that runs the script of that name, from 100 ms after it was loaded. */
  urlOf(name: string): string;
  /** Lists tabs until a result says it, and resolves with all results; `first` may say it already. */
  told(words: RegExp, first: string): Promise<string>;
  expectServed(): Promise<void>;
}

/** Prints without an end. */
export const FLOOD = `for (let i = 0; ; i++) console.log('line ' + i)`;
/** A slow machine takes its time to exhaust itself. */
const TOLD_MS = 60_000;

export async function startAttackedLease(
  scripts: Readonly<Record<string, string>>,
  env: Record<string, string>,
): Promise<AttackedLease> {
  const serveSite = (request: IncomingMessage, response: ServerResponse): void => {
    request.resume();
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://site');
    if (searchParams.has('unanswered')) return;
    if (pathname === '/endless') return void endless(response);
    if (pathname === '/file') return void response.writeHead(200, { 'content-disposition': 'attachment' }).end('file');
    const script = pathname === '/flood' ? FLOOD : (scripts[searchParams.get('attack') ?? ''] ?? '');
    const html = `<!doctype html><title>Page</title><h1>Shop</h1><script>setTimeout(() => { ${script} }, 100)</script>`;
    response.writeHead(200, { 'content-type': 'text/html' }).end(html);
  };
  const server = createServer(serveSite).on('upgrade', acceptSocket).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const site = `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // a TCP server has one
  // A picture after each call is pending while pages do their worst.
  const lease = await startLease({ env, keepPages: 'calls' });
  const { controller, runner, client } = lease;
  return {
    ...{ site, controller, runner, client },
    urlOf: name => `${site}/?${new URLSearchParams({ attack: name })}`,
    async told(words, first) {
      let results = first;
      if (words.test(first)) return first;
      const look = async () => {
        const text = await callText(client, 'browser_tabs', { action: 'list' });
        results += text;
        if (!words.test(text)) throw new Error(`the last result is: ${text.slice(0, 300)}`);
        return results;
      };
      return eventually(`a result with ${words}`, look, TOLD_MS);
    },
    async expectServed() {
      const navigate = () => callText(client, 'browser_navigate', { url: `${site}/` });
      const first = await navigate();
      // a tab that dies under a navigation may cost that call
      const isLost = first.includes('The call was given up; the next one is served.');
      expect(isLost ? await navigate() : first).toContain('Shop');
      expect((await runner.health()).body.phase).toBe('leased');
    },
    async [Symbol.asyncDispose]() {
      await lease[Symbol.asyncDispose]();
      server.closeAllConnections();
      server.close();
    },
  };
}

/** An attachment without an end. */
function endless(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-disposition': 'attachment' });
  const chunk = Buffer.alloc(1024 * 1024, 1);
  const more = () => {
    while (!response.destroyed && response.write(chunk)) {
      // until its buffer is full
    }
  };
  response.on('drain', more);
  more();
}

/** Reads what a web socket sends, and forgets it. */
function acceptSocket({ headers }: IncomingMessage, socket: Duplex): void {
  const accept = createHash('sha1').update(`${headers['sec-websocket-key']}${WEB_SOCKET_GUID}`).digest('base64');
  const lines = ['HTTP/1.1 101 Switching Protocols', 'Upgrade: websocket', 'Connection: Upgrade'];
  socket.on('error', () => undefined).resume();
  socket.write([...lines, `Sec-WebSocket-Accept: ${accept}`, '', ''].join('\r\n'));
}
// https://datatracker.ietf.org/doc/html/rfc6455#section-1.3
const WEB_SOCKET_GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
