import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import type { z } from 'zod';
import type { RunnerHealth } from '../contract/assignment.ts';
import { OmicronError, PROBLEM_TYPE } from '../contract/problem.ts';
import { answerClientError } from '../http/client-errors.ts';
import { CALL_DEPTH_MAX, parseJsonBody } from '../http/json-body.ts';
import { neverSniff } from '../http/never-sniff.ts';
import { onlyWebSockets } from '../http/upgrade.ts';
import { takeUrlToken } from '../http/url-token.ts';
import { inSpan, traceHeaders } from '../process/tracing.ts';
import { serveFiles } from './files-http.ts';
import { serveLive } from './live-upgrade.ts';
import { checkOrigin } from './mcp/origin.ts';
import { RUNNER_ROUTES } from './routes.ts';
import type { Runner } from './runner.ts';

/** A signed token has at most 16 kB; an MCP call may carry text to type. */
const TOKEN_BYTES_MAX = 32 * 1024;
const MCP_BYTES_MAX = 4 * 1024 * 1024;
/** A controller that saw the runner become warm keeps its connection for the assignment, perhaps much later. */
const KEEP_ALIVE_MS = 3_600_000;

type Routes = typeof RUNNER_ROUTES;
type Handle = (request: IncomingMessage, response: ServerResponse) => Promise<void>;
/** A handler of each route; the MCP SDK answers other methods of its clients itself, and WebSockets are served by `live-upgrade.ts`. */
type Handlers = { [Path in Exclude<keyof Routes, '/live'>]: { [Method in keyof Routes[Path]]: Handle } } & {
  '/mcp': { GET: Handle; DELETE: Handle };
};

/** The controller's orders, each in the trace of its caller; a call of MCP has a span of its own (`calls/record.ts`). */
type OrderPath = '/assign' | '/drain' | '/save-profile' | '/hibernate' | '/check-login';
const ORDERS = new Set(
  Object.entries(RUNNER_ROUTES).flatMap(([path, methods]) =>
    'POST' in methods && methods.POST.tag === 'orders' ? path : [],
  ),
);

export interface RunnerServerOptions {
  /** Origins whose pages may use `/mcp` and `/live` too. */
  readonly mcpOrigins: readonly string[];
  readonly log: Logger;
}

/** The runner over HTTP: `/assign`, `/drain`, `/save-profile`, `/check-login`, `/hibernate`, `/healthz`, `/health`, `/files`, `/mcp`, and the WebSockets of `/live`; every error is a problem document. */
export function runnerServer(runner: Runner, { mcpOrigins, log }: RunnerServerOptions): Server {
  const routes: Handlers = {
    '/assign': order('/assign', (token, sent) => runner.assign(token, traceHeaders().traceparent ?? sent)),
    '/drain': order('/drain', async token => {
      await runner.drain(token);
      return { acknowledged: true };
    }),
    '/save-profile': order('/save-profile', async token => ({ version: await runner.saveProfile(token) })),
    '/hibernate': order('/hibernate', async token => {
      await runner.hibernate(token);
      return { hibernated: true };
    }),
    '/check-login': order('/check-login', token => runner.checkLogin(token)),
    '/healthz': {
      async GET(_request, response) {
        const health = await runner.health();
        send(response, isRunnerHealthy(health) ? 200 : 503, health);
      },
    },
    // P2: what probes of other MCP servers ask for; `/healthz` says more.
    '/health': {
      async GET(_request, response) {
        const isHealthy = isRunnerHealthy(await runner.health());
        send(response, isHealthy ? 200 : 503, { status: isHealthy ? 'ok' : 'unavailable' });
      },
    },
    '/mcp': { GET: mcp, POST: mcp, DELETE: mcp },
    '/files': { GET: files },
    '/files/{name}': { GET: files, PUT: files },
  };

  async function mcp(request: IncomingMessage, response: ServerResponse): Promise<void> {
    checkOrigin(request.headers, mcpOrigins);
    const endpoint = await runner.endpoint(bearerOf(request));
    const body = request.method === 'POST' ? await readJson(request, MCP_BYTES_MAX) : undefined;
    await endpoint.handle(request, response, body);
  }

  async function files(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const served = await runner.files(bearerOf(request));
    await serveFiles(served, request, response, (status, body) => send(response, status, body));
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (takeUrlToken(request).split('?')[0] ?? '').replace(/^\/files\/[^/]+$/, '/files/{name}');
    const methods = ownOf<Record<string, Handle>>(routes, path);
    const handler = methods && ownOf<Handle>(methods, request.method ?? '');
    if (handler === undefined) {
      if (methods !== undefined) response.setHeader('allow', Object.keys(methods).join(', '));
      throw new OmicronError(
        methods === undefined ? 'route_not_found' : 'method_not_allowed',
        'A runner serves POST /assign, POST /drain, POST /save-profile, POST /check-login, POST /hibernate, GET /healthz, GET /health, /files and /mcp.',
      );
    }
    const { traceparent } = request.headers;
    if (traceparent === undefined || !ORDERS.has(path)) return handler(request, response);
    const attributes = {
      'http.request.method': 'POST',
      'http.route': path,
      'url.path': path,
      'url.scheme': 'http',
    };
    await inSpan(`POST ${path}`, { kind: 'server', parent: traceparent, attributes }, async span => {
      await handler(request, response);
      span.set({ 'http.response.status_code': response.statusCode });
    });
  }

  const server = createServer(onlyWebSockets, (request, response) => {
    serve(request, response).catch((error: unknown) => refuse(request, response, error, log));
  });
  neverSniff(server);
  server.on('clientError', answerClientError);
  serveLive(server, runner, { origins: mcpOrigins, log });
  server.requestTimeout = 30_000;
  server.headersTimeout = 10_000;
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  return server;
}

const ownOf = <Value>(record: Readonly<Record<string, Value>>, name: string): Value | undefined =>
  Object.hasOwn(record, name) ? record[name] : undefined;

const bearerOf = ({ headers }: IncomingMessage): string | undefined =>
  /^Bearer (\S+)$/i.exec(headers.authorization ?? '')?.[1];

const isRunnerHealthy = ({ phase, browser }: RunnerHealth): boolean =>
  browser.process.ok && browser.protocol.ok && phase !== 'failed' && phase !== 'draining';

function send(response: ServerResponse, status: number, body: unknown, type = 'application/json'): void {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    'content-type': type,
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
  });
  response.end(text);
}

function refuse(request: IncomingMessage, response: ServerResponse, error: unknown, log: Logger): void {
  const known = error instanceof OmicronError;
  // A client that goes away while it sends is no error of the runner's.
  if (!known && !request.readableAborted) log.error({ err: error, method: request.method }, 'unexpected error');
  const problem = (
    known ? error : new OmicronError('internal_error', 'The runner failed; its log has the reason.')
  ).toProblem();
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  if (problem.code === 'unauthorized') response.setHeader('www-authenticate', 'Bearer');
  if (problem.retry_after_seconds !== undefined) response.setHeader('retry-after', problem.retry_after_seconds);
  // The rest of an oversized body is not read.
  if (problem.code === 'payload_too_large' && !request.complete) response.setHeader('connection', 'close');
  send(response, problem.status, problem, PROBLEM_TYPE);
}

/** The handler of an order: reads its token, and answers what the route promises. */
const order = <Path extends OrderPath>(
  path: Path,
  /** `traceparent`: as its sender wrote it. */
  carryOut: (token: string, traceparent: unknown) => Promise<z.infer<Routes[Path]['POST']['response'][200]>>,
): { POST: Handle } => ({
  async POST(request, response) {
    const parsed = RUNNER_ROUTES[path].POST.body.safeParse(await readJson(request, TOKEN_BYTES_MAX));
    if (!parsed.success)
      throw new OmicronError('invalid_request', 'The body must be {"token": "..."} and nothing else.');
    send(response, 200, await carryOut(parsed.data.token, request.headers.traceparent));
  },
});

async function readJson(request: IncomingMessage, bytesMax: number): Promise<unknown> {
  if (!/^application\/json\b/i.test(request.headers['content-type'] ?? ''))
    throw new OmicronError('unsupported_media_type', 'Send the body as application/json.');
  const chunks = await bodyOf(request, bytesMax);
  return parseJsonBody(Buffer.concat(chunks).toString('utf8'), CALL_DEPTH_MAX);
}

/** By events: in a process that has run little, an asynchronous iterator takes as long again. */
function bodyOf(request: IncomingMessage, bytesMax: number): Promise<Buffer[]> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer[]>();
  const chunks: Buffer[] = [];
  let bytes = 0;
  request
    .on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      chunks.push(chunk);
      if (bytes <= bytesMax) return;
      request.pause();
      reject(new OmicronError('payload_too_large', `The body must have at most ${bytesMax} bytes.`));
    })
    .on('end', () => resolve(chunks))
    .on('error', reject);
  return promise;
}
