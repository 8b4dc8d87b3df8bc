import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import * as z from 'zod';
import { OmicronError } from '../../contract/problem.ts';
import { type Answer, json, problem, type Route } from './controller/answer.ts';
import { type FakeClientRoutes, fakeClientRoutes } from './controller/clients.ts';
import { type FakeEgressRoutes, fakeEgressRoutes } from './controller/egress.ts';
import { type FakeRunnerRoutes, fakeRunnerRoutes } from './controller/runners.ts';

/**
 * A controller without a database, over real HTTP, for the tests of what calls one: clients, runners, egress proxies. It
 * knows only what a test put there. Strict: a call whose token or body the real one would refuse is refused here too.
 */
export interface FakeController extends FakeClientRoutes, FakeRunnerRoutes, FakeEgressRoutes, AsyncDisposable {
  readonly url: string;
  /** `down` answers 503 as a gateway does, `hung` never answers, `cut` drops every connection. */
  mode: 'up' | 'down' | 'hung' | 'cut';
  /** Answers the next calls of this path (without its query) with these errors, before anything else is looked at. */
  failNext(path: string, ...errors: OmicronError[]): void;
  /** Carries the next call of this path out, and drops its connection instead of the answer. */
  loseNextAnswer(path: string): void;
  /** Drops every connection, those that are open too, until `heal`. */
  partition(): void;
  heal(): void;
  close(): Promise<void>;
}

export async function startFakeController(): Promise<FakeController> {
  const failures = new Map<string, OmicronError[]>();
  const losses = new Set<string>();
  const clients = fakeClientRoutes();
  const runners = await fakeRunnerRoutes();
  const egress = fakeEgressRoutes(randomBytes(32).toString('hex'));
  async function serve(request: IncomingMessage): Promise<Answer> {
    const text = Buffer.concat(await request.toArray()).toString();
    const { pathname: path, searchParams: query } = new URL(request.url ?? '', 'http://controller');
    const failure = failures.get(path)?.shift();
    if (failure) throw failure;
    const method = request.method ?? '';
    const token = (request.headers.authorization ?? '').replace('Bearer ', '');
    const idempotencyKey = request.headers['idempotency-key']?.toString();
    const body: unknown = text === '' ? undefined : JSON.parse(text);
    for (const route of routes) {
      const answer = await route({ method, path, query, token, idempotencyKey, body });
      if (answer && losses.delete(path)) request.socket.destroy();
      if (answer) return answer;
    }
    throw new OmicronError('route_not_found', `${method} ${path}`);
  }

  const server = createServer((request, response) => {
    if (controller.mode === 'hung') return;
    if (controller.mode === 'cut') return void request.socket.destroy();
    if (controller.mode === 'down') return void response.writeHead(503).end();
    serve(request)
      .catch(refusal)
      .then(({ status, headers, body }) => response.writeHead(status, headers).end(body));
  });
  const close = () =>
    new Promise<void>(resolve => {
      server.close(() => resolve());
      server.closeAllConnections();
    });

  const controller: FakeController = {
    ...clients.state,
    ...runners.state,
    ...egress.state,
    url: await listen(server),
    mode: 'up',
    failNext(path, ...errors) {
      failures.set(path, [...(failures.get(path) ?? []), ...errors]);
    },
    loseNextAnswer(path) {
      losses.add(path);
    },
    partition() {
      controller.mode = 'cut';
      server.closeAllConnections();
    },
    heal() {
      controller.mode = 'up';
    },
    close,
    [Symbol.asyncDispose]: close,
  };
  const routes = [healthz, runners.route(controller), egress.route, clients.route];
  return controller;
}

const healthz: Route = async ({ method, path }) =>
  method === 'GET' && path === '/healthz' ? json(200, { status: 'ok' }) : undefined;

function refusal(error: unknown): Answer {
  if (error instanceof OmicronError) return problem(error);
  const detail = error instanceof z.ZodError ? z.prettifyError(error) : String(error);
  return problem(new OmicronError('invalid_request', detail));
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // a TCP server has one
  return `http://127.0.0.1:${port}`;
}
