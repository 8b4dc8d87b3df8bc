import * as z from 'zod';
import { liveTokenRequest } from '../../../contract/live.ts';
import { OmicronError } from '../../../contract/problem.ts';
import { credentialSchema } from '../../../contract/secrets.ts';
import {
  artifactUrlRequest,
  eventQuery,
  getOrCreateRequest,
  heartbeatRequest,
  listQuery,
  releaseRequest,
  type Session,
} from '../../../contract/session.ts';
import { serviceKey, verifyServiceToken } from '../../../contract/tokens.ts';
import { usageQuery } from '../../../contract/usage.ts';
import { userActionAnswer } from '../../../contract/user-action.ts';
import { type Answer, json, type Route } from './answer.ts';

export interface ClientCall {
  method: string;
  /** With its query. */
  path: string;
  userId: string | undefined;
  token: string;
  body: Record<string, unknown> | undefined;
}

/** The sessions API. Every answer is scripted, in order; a call that no answer was written for gets 500. */
export interface FakeClientRoutes {
  readonly serviceSecret: string;
  /** Calls with a token and a body that the real controller would have accepted, whatever their path. */
  readonly seen: ClientCall[];
  /** Paths of releases: they are answered without a script, as clients ignore the answer. */
  readonly released: string[];
  answerNext(...answers: Answer[]): void;
}

const nothing = z.undefined();
const noQuery = z.strictObject({});
const SESSION = '/internal/browser-sessions/[^/]+';
const RELEASE = RegExp(`^POST ${SESSION}/release$`);

/** The body of each call, as the controller's own routes have it. */
const CALLS: { call: RegExp; query?: z.ZodType; body?: z.ZodType }[] = [
  { call: /^POST \/internal\/browser-sessions\/get-or-create$/, body: getOrCreateRequest },
  { call: /^GET \/internal\/browser-sessions$/, query: listQuery },
  { call: RegExp(`^GET ${SESSION}$`) },
  { call: RegExp(`^DELETE ${SESSION}$`), query: z.strictObject({ epoch: z.coerce.number().int().optional() }) },
  { call: RegExp(`^POST ${SESSION}/heartbeat$`), body: heartbeatRequest.optional() },
  { call: RELEASE, body: releaseRequest.optional() },
  { call: RegExp(`^POST ${SESSION}/archive$`) },
  { call: RegExp(`^GET ${SESSION}/events$`), query: eventQuery },
  { call: RegExp(`^GET ${SESSION}/(artifacts|user-actions|policy/effective)$`) },
  { call: RegExp(`^POST ${SESSION}/artifacts/[^/]+/url$`), body: artifactUrlRequest },
  { call: RegExp(`^POST ${SESSION}/user-actions/[^/]+$`), body: userActionAnswer },
  { call: RegExp(`^POST ${SESSION}/live-token$`), body: liveTokenRequest.optional() },
  { call: /^GET \/internal\/user-actions$/ },
  { call: /^GET \/internal\/usage$/, query: usageQuery },
  { call: /^GET \/internal\/users\/[^/]+\/credentials$/ },
  { call: /^PUT \/internal\/users\/[^/]+\/credentials\/[^/]+$/, body: credentialSchema },
  { call: /^DELETE \/internal\/users\/[^/]+\/credentials\/[^/]+$/ },
  { call: RegExp(`^(GET|DELETE) (/internal|/internal/users/[^/]+|${SESSION})/policy$`) },
  { call: RegExp(`^PUT (/internal|/internal/users/[^/]+|${SESSION})/policy$`), body: z.unknown() },
];

export function fakeClientRoutes() {
  const answers: Answer[] = [];
  const state: FakeClientRoutes = {
    serviceSecret: 'a service secret of 32 bytes, for tests',
    seen: [],
    released: [],
    answerNext: (...more) => void answers.push(...more),
  };
  const key = serviceKey(state.serviceSecret);

  const route: Route = async ({ method, path, query, token, body }) => {
    const known = CALLS.find(({ call }) => call.test(`${method} ${path}`));
    const { userId } = await verifyServiceToken(key, token);
    if (known) {
      (known.query ?? noQuery).parse(single(query));
      (known.body ?? nothing).parse(body);
    }
    if (RELEASE.test(`${method} ${path}`)) {
      state.released.push(path);
      return ended();
    }
    const url = query.size === 0 ? path : `${path}?${query}`;
    state.seen.push({ method, path: url, userId, token, body: body as ClientCall['body'] }); // bodies of this API are objects
    if (!known) return undefined;
    const answer = answers.shift();
    if (answer) return answer;
    throw new OmicronError('internal_error', `no answer was written down for ${method} ${url}`);
  };
  return { state, route };
}

/** A query as fastify reads it: a name that is repeated has a list. */
const single = (query: URLSearchParams) =>
  Object.fromEntries(
    [...new Set(query.keys())].map(name => {
      const values = query.getAll(name);
      return [name, values.length === 1 ? values[0] : values];
    }),
  );

export const SESSION_ID = '0b8f2f3e-8a1c-4a39-9c9a-3f1a3c8d2b10';

const times = { expires_at: '2026-01-01T00:10:00.000Z', ends_at: '2026-01-01T08:00:00.000Z' };

export const ready = (epoch = 1, mcpUrl = 'http://127.0.0.1:1/mcp'): Answer =>
  json(200, {
    session_id: SESSION_ID,
    status: 'ready',
    epoch,
    mcp_url: mcpUrl,
    mcp_headers: { Authorization: 'Bearer lease-token' },
    ...times,
  });

export const starting = (retryAfterSeconds: number): Answer =>
  json(
    202,
    { session_id: SESSION_ID, status: 'starting', epoch: 1, mcp_url: null, mcp_headers: null, ...times },
    { 'retry-after': String(retryAfterSeconds) },
  );

export const renewed = (epoch = 1, status: 'ready' | 'hibernated' = 'ready'): Answer =>
  json(200, { session_id: SESSION_ID, status, epoch, last_used_at: '2026-01-01T00:00:00.000Z', ...times });

const session: Session = {
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
  released_at: null,
  ended_reason: 'released',
  error: null,
  artifacts_prefix: null,
  ...times,
};

export const ended = (): Answer => json(200, session);
