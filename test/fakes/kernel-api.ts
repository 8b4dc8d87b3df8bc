import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { type Browser, chromium } from 'playwright-core';
import * as z from 'zod';
import { freePort } from '../../local/free-port.ts';

/**
 * Kernel's API as it is published (<https://www.kernel.sh/docs/api-reference/browsers/create-a-browser-session>), as far as browsers go:
 * what that does not allow is refused here. Its browsers are real, and are driven through a socket that wants the token of its address.
 */
export interface KernelApi extends AsyncDisposable {
  readonly url: string;
  readonly apiKey: string;
  /** Ids of browsers that run. */
  browsers(): string[];
  /** Every token that opens a browser. */
  readonly tokens: readonly string[];
  /** The next request is answered so. */
  failNext(status: number, code: string, message: string): void;
  /** From now on no socket is opened. */
  refuseSockets(): void;
}

const CHROMIUM = ['/usr/lib/chromium/chromium-headless-shell', '/usr/bin/chromium'].find(path => existsSync(path));

const id = z.string().min(1);
const nameOrId = z.union([z.strictObject({ id }), z.strictObject({ name: id })]);
const pixels = z.int().min(1);
const createBody = z.strictObject({
  extensions: z.array(nameOrId).optional(),
  gpu: z.boolean().optional(),
  headless: z.boolean().optional(),
  invocation_id: id.optional(),
  kiosk_mode: z.boolean().optional(),
  profile: z.strictObject({ id: id.optional(), name: id.optional(), save_changes: z.boolean().optional() }).optional(),
  proxy_id: id.optional(),
  stealth: z.boolean().optional(),
  timeout_seconds: z.int().min(10).max(259_200).optional(),
  viewport: z.strictObject({ width: pixels, height: pixels, refresh_rate: pixels.optional() }).optional(),
});

interface Session {
  readonly token: string;
  readonly browser: Browser;
  readonly port: number;
  readonly path: string;
}

export async function startKernelApi(): Promise<KernelApi> {
  const apiKey = `sk_${randomBytes(24).toString('hex')}`;
  const sessions = new Map<string, Session>();
  const tokens: string[] = [];
  const sockets = new Set<Socket>();
  const failures: { status: number; code: string; message: string }[] = [];
  let opensSockets = true;

  async function create(response: ServerResponse, body: string) {
    const { data, error } = createBody.safeParse(JSON.parse(body));
    if (data === undefined) return refuse(response, 400, 'bad_request', z.prettifyError(error));
    const session = await launch();
    const sessionId = randomBytes(12).toString('hex');
    sessions.set(sessionId, session);
    tokens.push(session.token);
    const address = (path: string) => `${url.replace('http', 'ws')}${path}?jwt=${session.token}`;
    answer(response, 200, {
      ...{ session_id: sessionId, created_at: new Date().toISOString() },
      ...{ cdp_ws_url: address('/browser/cdp'), webdriver_ws_url: address('/browser/webdriver/session') },
      ...{ headless: data.headless ?? false, stealth: data.stealth ?? false },
      ...{ timeout_seconds: data.timeout_seconds ?? 60, viewport: data.viewport },
    });
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    if (request.headers.authorization !== `Bearer ${apiKey}`)
      return refuse(response, 401, 'unauthorized', 'Missing or invalid API key');
    const failure = failures.shift();
    if (failure !== undefined) return refuse(response, failure.status, failure.code, failure.message);
    const [, sessionId] = /^\/browsers\/([^/?]+)$/.exec(request.url ?? '') ?? [];
    if (request.url === '/browsers' && request.method === 'POST') {
      if (request.headers['content-type'] === 'application/json') return create(response, body);
      return refuse(response, 400, 'bad_request', 'The body must be JSON');
    }
    if (sessionId === undefined || request.method !== 'DELETE')
      return refuse(response, 404, 'not_found', 'No such route');
    const session = sessions.get(sessionId);
    if (session === undefined) return refuse(response, 404, 'not_found', 'Browser session not found');
    sessions.delete(sessionId);
    await session.browser.close();
    response.writeHead(204).end();
  }

  const server = createServer((request, response) => {
    handle(request, response).catch(() => refuse(response, 500, 'internal_error', 'Internal error'));
  });
  server.on('upgrade', (request, client: Socket, head) => {
    const asked = new URL(request.url ?? '', 'http://kernel');
    const session = [...sessions.values()].find(({ token }) => token === asked.searchParams.get('jwt'));
    if (!opensSockets || session === undefined || asked.pathname !== '/browser/cdp')
      return void client.end('HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\n');
    const browser = connect({ port: session.port, host: '127.0.0.1' });
    const fields = Object.entries({ ...request.headers, host: `127.0.0.1:${session.port}` });
    browser.write(
      `GET ${session.path} HTTP/1.1\r\n${fields.map(([name, value]) => `${name}: ${value}`).join('\r\n')}\r\n\r\n`,
    );
    browser.write(head);
    for (const [from, to] of [
      [client, browser],
      [browser, client],
    ] as const) {
      sockets.add(from);
      from
        .on('error', () => to.destroy())
        .on('close', () => sockets.delete(from))
        .pipe(to);
    }
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // it listens on TCP

  return {
    url,
    apiKey,
    tokens,
    browsers: () => [...sessions.keys()],
    failNext: (status, code, message) => void failures.push({ status, code, message }),
    refuseSockets() {
      opensSockets = false;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await Promise.all([...sessions.values()].map(({ browser }) => browser.close()));
      server.close();
      server.closeAllConnections();
    },
  };
}

async function launch(): Promise<Session> {
  const port = await freePort();
  const browser = await chromium.launch({
    ...(CHROMIUM === undefined ? {} : { executablePath: CHROMIUM }),
    args: [`--remote-debugging-port=${port}`],
  });
  const version = await fetch(`http://127.0.0.1:${port}/json/version`);
  const { webSocketDebuggerUrl } = z.object({ webSocketDebuggerUrl: z.url() }).parse(await version.json());
  return { token: randomBytes(24).toString('hex'), browser, port, path: new URL(webSocketDebuggerUrl).pathname };
}

function answer(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function refuse(response: ServerResponse, status: number, code: string, message: string): void {
  answer(response, status, { code, message });
}
