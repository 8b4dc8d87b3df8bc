import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { OmicronError, PROBLEM_TYPE } from '../../contract/problem.ts';
import { getOrCreateRequest, heartbeatRequest } from '../../contract/session.ts';
import { serviceKey, verifyServiceToken } from '../../contract/tokens.ts';

/** What a stand-in says to one call. */
export interface Answer {
  status: number;
  headers?: Record<string, string>;
  body: string;
}

export interface Seen {
  method: string;
  path: string;
  userId: string | undefined;
  token: string;
  body: Record<string, unknown> | undefined;
}

/**
 * A controller that says what a test wrote down for it, in that order. Strict: a call with a token or a body that the real
 * one would refuse is refused here too, and a call that no answer was written for gets 500.
 */
export interface StandIn {
  readonly url: string;
  readonly serviceSecret: string;
  readonly seen: Seen[];
  say(...answers: Answer[]): void;
  close(): Promise<void>;
}

export const SESSION_ID = '0b8f2f3e-8a1c-4a39-9c9a-3f1a3c8d2b10';

const json = (status: number, body: unknown, headers: Record<string, string> = {}): Answer => ({
  status,
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify(body),
});

const times = { expires_at: '2026-01-01T00:10:00.000Z', ends_at: '2026-01-01T08:00:00.000Z' };

export const ready = (epoch = 1): Answer =>
  json(200, {
    session_id: SESSION_ID,
    status: 'ready',
    epoch,
    mcp_url: 'http://127.0.0.1:1/mcp',
    mcp_headers: { Authorization: 'Bearer lease-token' },
    ...times,
  });

export const starting = (retryAfterSeconds: number): Answer =>
  json(
    202,
    { session_id: SESSION_ID, status: 'starting', epoch: 1, mcp_url: null, mcp_headers: null, ...times },
    { 'retry-after': String(retryAfterSeconds) },
  );

export const renewed = (epoch = 1): Answer =>
  json(200, { session_id: SESSION_ID, status: 'ready', epoch, last_used_at: '2026-01-01T00:00:00.000Z', ...times });

export const ended = (): Answer =>
  json(200, {
    session_id: SESSION_ID,
    user_id: 'ada',
    conversation_id: 'c',
    status: 'ended',
    epoch: 1,
    runner_id: null,
    provider: 'local',
    mcp_url: null,
    tags: {},
    record_video: true,
    ttl_seconds: 600,
    created_at: times.expires_at,
    updated_at: times.expires_at,
    last_used_at: times.expires_at,
    archived_at: null,
    ended_reason: 'released',
    error: null,
    artifacts_prefix: null,
    ...times,
  });

export function problem(error: OmicronError): Answer {
  const document = error.toProblem();
  return {
    status: document.status,
    headers: {
      'content-type': PROBLEM_TYPE,
      ...(error.retryAfterSeconds === undefined ? {} : { 'retry-after': String(error.retryAfterSeconds) }),
    },
    body: JSON.stringify(document),
  };
}

export async function startStandIn(): Promise<StandIn> {
  const serviceSecret = 'a service secret of 32 bytes, for tests';
  const answers: Answer[] = [];
  const seen: Seen[] = [];

  async function serve(request: IncomingMessage): Promise<Answer> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    const body: unknown = text === '' ? undefined : JSON.parse(text);
    const path = request.url ?? '';
    const token = (request.headers.authorization ?? '').replace('Bearer ', '');
    const { userId } = await verifyServiceToken(serviceKey(serviceSecret), token);
    if (path.endsWith('/get-or-create')) getOrCreateRequest.parse(body);
    if (path.endsWith('/heartbeat')) heartbeatRequest.parse(body);
    // the bodies of this API are objects
    seen.push({ method: request.method ?? '', path, userId, token, body: body as Seen['body'] });
    const answer = answers.shift();
    if (answer) return answer;
    return problem(new OmicronError('internal_error', `no answer was written down for ${request.method} ${path}`));
  }

  const server = createServer((request, response) => {
    serve(request)
      .catch(error => problem(new OmicronError('invalid_request', String(error))))
      .then(({ status, headers, body }) => response.writeHead(status, headers).end(body));
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // a TCP server has one
  return {
    url: `http://127.0.0.1:${port}`,
    serviceSecret,
    seen,
    say: (...more) => answers.push(...more),
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
