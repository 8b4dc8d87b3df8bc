import * as z from 'zod';
import type { Toolset } from '../contract/assignment.ts';
import {
  type EffectivePolicy,
  effectivePolicy,
  type PolicyDocument,
  policyDocument,
} from '../contract/policy/document.ts';
import { OmicronError } from '../contract/problem.ts';
import { type Credential, type CredentialList, credentialList } from '../contract/secrets.ts';
import {
  type Artifact,
  artifactList,
  type EventPage,
  eventPage,
  heartbeatAnswer,
  LIMITS,
  leaseAnswer,
  type Session,
  type SessionPage,
  sessionPage,
  sessionSchema,
  type Tags,
} from '../contract/session.ts';
import type { SessionState } from '../contract/states.ts';
import { type UserAction, userAction, userActionList } from '../contract/user-action.ts';
import { type Clock, realClock } from '../http/clock.ts';
import { type Call, type Connection, type ControllerApi, controllerApi } from './controller-api.ts';
import { Lease, type LeasedBrowser } from './lease.ts';
import { retrying } from './retry.ts';

export interface AcquireRequest {
  userId: string;
  conversationId: string;
  /** The lease ends so long after its last use; 600 unless given. */
  ttlSeconds?: number;
  /** True unless given. */
  recordVideo?: boolean;
  tags?: Tags;
  /** Which tools the browser offers; the deployment's unless given. */
  toolset?: Toolset;
  /** How long `acquire` may wait, for a browser or for a free place, in all; 60 unless given. */
  waitSeconds?: number;
  /** Fail with `credentials_not_configured` when the user has stored no site credential. */
  requireCredentials?: boolean;
  /** Stops waiting. What was leased meanwhile ends by its expiry. */
  signal?: AbortSignal;
  /** Called once when the lease is lost: superseded, ended elsewhere, or not renewable until its expiry. */
  onLost?: (error: OmicronError) => void;
}

/** Whatever an application gets its browsers from: a controller, or the one of `PLAYWRIGHT_MCP_URL`. */
export interface BrowserSource {
  acquire(request: AcquireRequest): Promise<LeasedBrowser>;
}

export interface ListRequest {
  userId?: string;
  conversationId?: string;
  status?: SessionState;
  /** All must match. */
  tags?: Tags;
  /** Archived ones too. */
  archived?: boolean;
  /** At most 200; 50 unless given. */
  limit?: number;
  /** `next_cursor` of the page before. */
  cursor?: string;
  signal?: AbortSignal;
}

/** Bounds one call: only this user's sessions are found. */
export interface OfUser {
  userId?: string;
  signal?: AbortSignal;
}

/** Whose policy: a session's, a user's, or the deployment's (`{}`). */
export type PolicyOwner = { sessionId: string } | { userId: string } | Record<string, never>;

export interface BrowserSessionsOptions extends Connection {
  /** Another fetch, e.g. one that knows a private CA. */
  fetch?: typeof globalThis.fetch;
  /** For tests. */
  clock?: Clock;
}

const WAIT_SECONDS = 60;
/** A heartbeat that takes longer is as good as lost; another one follows. */
const HEARTBEAT_TIMEOUT_MS = 10_000;
const NETWORK_MS = 15_000;

/**
 * The controller's client: leases, sessions and credentials. Documents it returns (Session, Artifact, ...) are those of
 * the wire. Every error is an OmicronError with a stable `code`.
 */
export class BrowserSessions implements BrowserSource {
  readonly #api: ControllerApi;
  readonly #clock: Clock;

  constructor(options: BrowserSessionsOptions) {
    this.#api = controllerApi(options, options.fetch ?? globalThis.fetch);
    this.#clock = options.clock ?? realClock;
  }

  /**
   * Leases the browser of a conversation: the one it has, or a new one. Tries again on 429 and 503 as Retry-After tells,
   * as long as `waitSeconds` allow, then throws the last answer: `user_quota_exceeded`, `capacity_exceeded`,
   * `lease_starting` (the browser still starts; asking again finds it), ...
   */
  async acquire(request: AcquireRequest): Promise<Lease> {
    const { userId, conversationId, ttlSeconds = LIMITS.ttlSecondsDefault, waitSeconds = WAIT_SECONDS } = request;
    const signal = request.signal ?? new AbortController().signal;
    const clock = this.#clock;
    const deadlineMs = clock.nowMs() + waitSeconds * 1000;
    return retrying(
      async leftMs => {
        const wait_seconds = Math.min(leftMs / 1000, LIMITS.waitSecondsMax);
        const renewedAtMs = clock.nowMs();
        const { value: answer, retryAfterSeconds = 1 } = await this.#api({
          method: 'POST',
          path: '/internal/browser-sessions/get-or-create',
          userId,
          body: {
            user_id: userId,
            conversation_id: conversationId,
            ttl_seconds: ttlSeconds,
            record_video: request.recordVideo ?? true,
            wait_seconds,
            require_credentials: request.requireCredentials ?? false,
            ...(request.tags ? { tags: request.tags } : {}),
            ...(request.toolset ? { toolset: request.toolset } : {}),
          },
          answer: leaseAnswer,
          signal,
          timeoutMs: wait_seconds * 1000 + NETWORK_MS,
        });
        const { mcp_url, mcp_headers } = answer;
        if (answer.status === 'starting' || mcp_url === null || mcp_headers === null)
          throw new OmicronError('lease_starting', 'The browser is still starting; ask again for the same session.', {
            session_id: answer.session_id,
            retryAfterSeconds,
          });
        return new Lease({
          answer: { ...answer, mcp_url, mcp_headers },
          calls: this.#callsOf(userId, answer.session_id, answer.epoch),
          ttlSeconds,
          renewedAtMs,
          onLost: request.onLost,
          clock,
        });
      },
      { clock, deadlineMs, signal },
    );
  }

  /** One page of sessions, newest first. */
  list(request: ListRequest = {}): Promise<SessionPage> {
    const { userId, conversationId, tags, status, archived, limit, cursor, signal } = request;
    const query = {
      user_id: userId,
      conversation_id: conversationId,
      status,
      tag: Object.entries(tags ?? {}).map(([key, value]) => `${key}:${value}`),
      archived,
      limit,
      cursor,
    };
    return this.#read({
      method: 'GET',
      path: '/internal/browser-sessions',
      userId,
      query,
      answer: sessionPage,
      signal,
    });
  }

  show(sessionId: string, of: OfUser = {}): Promise<Session> {
    return this.#read({ method: 'GET', path: session(sessionId), answer: sessionSchema, ...of });
  }

  /** A page of the session's timeline, oldest first. */
  events(sessionId: string, of: OfUser & { cursor?: string; limit?: number } = {}): Promise<EventPage> {
    const { cursor, limit, ...user } = of;
    const path = `${session(sessionId)}/events`;
    return this.#read({ method: 'GET', path, query: { cursor, limit }, answer: eventPage, ...user });
  }

  /** The session's recordings. */
  async artifacts(sessionId: string, of: OfUser = {}): Promise<Artifact[]> {
    const path = `${session(sessionId)}/artifacts`;
    return (await this.#read({ method: 'GET', path, answer: artifactList, ...of })).artifacts;
  }

  /** Ends the session's lease; with `epoch` only if it is that one (`lease_superseded` otherwise). */
  end(sessionId: string, of: OfUser & { epoch?: number } = {}): Promise<Session> {
    const { epoch, ...user } = of;
    return this.#read({ method: 'DELETE', path: session(sessionId), query: { epoch }, answer: sessionSchema, ...user });
  }

  /** Ends the lease and takes the session off the list; its timeline and recordings stay. */
  archive(sessionId: string, of: OfUser = {}): Promise<Session> {
    return this.#read({ method: 'POST', path: `${session(sessionId)}/archive`, answer: sessionSchema, ...of });
  }

  /** Site keys and the names an agent uses in place of the values; never a value. */
  credentials(userId: string): Promise<CredentialList> {
    return this.#read({ method: 'GET', path: credentials(userId), userId, answer: credentialList });
  }

  /** Stores or replaces the credential of one site; leases that begin from now on have it. */
  async putCredential(userId: string, site: string, credential: Credential): Promise<void> {
    const path = `${credentials(userId)}/${encodeURIComponent(site)}`;
    await this.#read({ method: 'PUT', path, userId, body: credential, answer: z.null() });
  }

  async deleteCredential(userId: string, site: string): Promise<void> {
    const path = `${credentials(userId)}/${encodeURIComponent(site)}`;
    await this.#read({ method: 'DELETE', path, userId, answer: z.null() });
  }

  /** The document of one layer; null: none is set. */
  async policy(of: PolicyOwner): Promise<PolicyDocument | null> {
    const answer = z.object({ policy: policyDocument.nullable() });
    return (await this.#read({ method: 'GET', path: policyPath(of), answer })).policy;
  }

  /**
   * Replaces the document of one layer; leases that run obey it within seconds. One with a fault is refused
   * (`invalid_request`, `errors` name the paths) and the one before stays in force.
   */
  async putPolicy(of: PolicyOwner, policy: unknown): Promise<PolicyDocument> {
    const answer = z.object({ policy: policyDocument });
    return (await this.#read({ method: 'PUT', path: policyPath(of), body: policy, answer })).policy;
  }

  async deletePolicy(of: PolicyOwner): Promise<void> {
    await this.#read({ method: 'DELETE', path: policyPath(of), answer: z.null() });
  }

  /** Every layer that applies to a session, widest first. */
  effectivePolicy(sessionId: string, of: OfUser = {}): Promise<EffectivePolicy> {
    return this.#read({
      method: 'GET',
      path: `${session(sessionId)}/policy/effective`,
      answer: effectivePolicy,
      ...of,
    });
  }

  /** What agents of the session asked of their person, oldest first. */
  async userActions(sessionId: string, of: OfUser = {}): Promise<UserAction[]> {
    const path = `${session(sessionId)}/user-actions`;
    return (await this.#read({ method: 'GET', path, answer: userActionList, ...of })).user_actions;
  }

  /** Answers one request; the first answer counts. */
  answerUserAction(
    sessionId: string,
    actionId: string,
    answer: { status: 'done' | 'declined'; note?: string },
    of: OfUser = {},
  ): Promise<UserAction> {
    const path = `${session(sessionId)}/user-actions/${encodeURIComponent(actionId)}`;
    return this.#read({ method: 'POST', path, body: answer, answer: userAction, ...of });
  }

  async #read<Answer>(call: Call<Answer>): Promise<Answer> {
    return (await this.#api(call)).value;
  }

  #callsOf(userId: string, sessionId: string, epoch: number) {
    return {
      heartbeat: (signal: AbortSignal) =>
        this.#read({
          method: 'POST',
          path: `${session(sessionId)}/heartbeat`,
          userId,
          body: { epoch },
          answer: heartbeatAnswer,
          signal,
          timeoutMs: HEARTBEAT_TIMEOUT_MS,
        }),
      end: () => this.end(sessionId, { userId, epoch }),
    };
  }
}

const session = (sessionId: string) => `/internal/browser-sessions/${encodeURIComponent(sessionId)}`;
const policyPath = (of: PolicyOwner): string => {
  if ('sessionId' in of) return `${session(of.sessionId)}/policy`;
  return 'userId' in of ? `/internal/users/${encodeURIComponent(of.userId)}/policy` : '/internal/policy';
};
const credentials = (userId: string) => `/internal/users/${encodeURIComponent(userId)}/credentials`;
