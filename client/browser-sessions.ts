import * as z from 'zod';
import type { StreamedEvent } from '../contract/event-stream.ts';
import { fileList, type ListedFile, type SessionFile, sessionFile } from '../contract/files.ts';
import { type LiveTokenAnswer, liveTokenAnswer, type liveTokenRequest } from '../contract/live.ts';
import {
  type EffectivePolicy,
  effectivePolicy,
  type PolicyDocument,
  policyDocument,
} from '../contract/policy/document.ts';
import { OmicronError } from '../contract/problem.ts';
import {
  type Profile,
  type ProfileCheck,
  type ProfileCheckRequest,
  type ProfileDetail,
  type ProfileState,
  profileCheck,
  profileDetail,
  profileList,
  profileSaved,
  profileState,
} from '../contract/profile.ts';
import { type Credential, type CredentialList, credentialList } from '../contract/secrets.ts';
import {
  type Artifact,
  type ArtifactUrl,
  artifactList,
  artifactUrlAnswer,
  type EventPage,
  type EventQuery,
  eventPage,
  type getOrCreateRequest,
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
import { type UsageReport, usageReport } from '../contract/usage.ts';
import {
  type PendingUserActionList,
  pendingUserActionList,
  type UserAction,
  userAction,
  type userActionAnswer,
  userActionList,
} from '../contract/user-action.ts';
import { type UserErasure, userErasure } from '../contract/user-erasure.ts';
import { type Clock, realClock } from '../time/clock.ts';
import { checkConnection } from './check-connection.ts';
import { acquireAndConnect } from './connect.ts';
import { type Connection, type ControllerApi, controllerApi, type UserCall } from './controller-api.ts';
import { encodeSegment } from './encode-segment.ts';
import { type FileContent, fileCalls } from './file-calls.ts';
import { type FollowRequest, followEvents } from './follow-events.ts';
import { Lease, type LeaseApi, type ReadyLease } from './lease.ts';
import type { ChosenProfile, ConnectedBrowser, LeasedBrowser } from './leased-browser.ts';
import { retryAttempts } from './retry.ts';
import { WebhookCalls } from './webhook-calls.ts';
import { type CamelCased, toSnakeCase } from './wire-names.ts';

/** Place of a caller that waits for a browser to come free. */
export interface PlaceInLine {
  /** Place in the line, from 1. */
  readonly position: number;
  /** By the browsers that came free in the last minute. */
  readonly expectedWaitSeconds?: number | undefined;
}

/** The request of a lease: the fields of `getOrCreateRequest`, and how to wait for it. */
export interface AcquireRequest extends CamelCased<z.input<typeof getOrCreateRequest>> {
  /**
   * How long `acquire` may wait in all, for a browser, for a place within a limit, or for a controller; 60 unless given, of which 3
   * while nothing listens at the controller's address.
   */
  waitSeconds?: number | undefined;
  /** Stops waiting. A lease that was granted meanwhile ends by its expiry. */
  signal?: AbortSignal | undefined;
  /** Called once when the lease is lost: superseded, ended elsewhere, or not renewable until its expiry. */
  onLost?: ((error: OmicronError) => void) | undefined;
  /** Called while every browser is in use, after 2 s and then each 10 s, with the caller's place in the line. */
  onWaiting?: ((place: PlaceInLine) => void) | undefined;
}

/** The source of an application's browsers: a controller, or the one browser of `PLAYWRIGHT_MCP_URL`. */
export interface BrowserSource {
  /** Leases the browser of a conversation. */
  acquire(request: AcquireRequest): Promise<LeasedBrowser>;
  /** Leases it, connects to it and lists its tools. */
  connect(request: AcquireRequest): Promise<ConnectedBrowser>;
}

export interface ListRequest {
  userId?: string | undefined;
  conversationId?: string | undefined;
  status?: SessionState | undefined;
  /** All must match. */
  tags?: Tags | undefined;
  /** Whether archived sessions are included; false unless given. */
  archived?: boolean | undefined;
  /** At most 200; 50 unless given. */
  limit?: number | undefined;
  /** `next_cursor` of the page before. */
  cursor?: string | undefined;
  signal?: AbortSignal | undefined;
}

export interface UsageRequest {
  /** `user`, or `tag:` and the name of a tag; `user` unless given. */
  by?: string | undefined;
  userId?: string | undefined;
  /** All must match. */
  tags?: Tags | undefined;
  /** ISO 8601; 30 days before `until` unless given. */
  since?: string | undefined;
  /** ISO 8601; now unless given. */
  until?: string | undefined;
  /** At most 200; 50 unless given. */
  limit?: number | undefined;
  signal?: AbortSignal | undefined;
}

export interface CallOptions {
  /** Limits the call to this user: sessions of others are not found. */
  userId?: string | undefined;
  signal?: AbortSignal | undefined;
}

/** Bytes of a content, both inclusive; all of it unless given. */
interface Part {
  start?: number | undefined;
  end?: number | undefined;
}

/** The owner of a policy: a session's, a user's, or the deployment's (`{}`). */
export type PolicyOwner = { sessionId: string } | { userId: string } | Record<string, never>;

export interface BrowserSessionsOptions extends Connection {
  /** Another fetch, e.g. one that knows a private CA. */
  fetch?: typeof globalThis.fetch;
  /** For tests. */
  clock?: Clock;
}

const WAIT_SECONDS = 60;
/** A waiting caller is shown its place after this time, and then each `SHOW_SECONDS`. */
const SHOW_FIRST_SECONDS = 2;
const SHOW_SECONDS = 10;
/** A wrong address is distinguished from a restart of the controller by this time. */
const ABSENT_MS = 3_000;
/** A heartbeat that takes longer counts as failed; another one follows. */
const HEARTBEAT_TIMEOUT_MS = 10_000;
/** A caller that releases a lease goes on without it. */
const RELEASE_TIMEOUT_MS = 3_000;
const NETWORK_MS = 15_000;
/** A save reads the browser's storage, of a complete profile some hundred megabytes. */
const PROFILE_MS = 70_000;
/** A browser is leased for it. */
const CHECK_MS = 100_000;

/**
 * A client of the controller: leases, sessions, credentials and policies. It returns the API's documents (Session,
 * Artifact, ...) as they are. Every error is an OmicronError with a stable `code`.
 */
export class BrowserSessions implements BrowserSource {
  /** Endpoints that events are sent to. */
  readonly webhooks: WebhookCalls;
  readonly #api: ControllerApi;
  readonly #connection: Connection;
  readonly #fileCall: ReturnType<typeof fileCalls>;
  readonly #clock: Clock;
  readonly #fetch: typeof globalThis.fetch;

  constructor(options: BrowserSessionsOptions) {
    this.#fetch = options.fetch ?? globalThis.fetch;
    const connection = checkConnection(options);
    this.#connection = connection;
    this.#api = controllerApi(connection, this.#fetch);
    this.#fileCall = fileCalls(connection, this.#fetch);
    this.#clock = options.clock ?? realClock;
    this.webhooks = new WebhookCalls(call => this.#call(call));
  }

  /**
   * Leases the browser of a conversation: the one it has, or a new one. Retries 429 and 503 as Retry-After says while
   * `waitSeconds` allow, then throws the last error: `user_quota_exceeded`, `capacity_exceeded`, `lease_starting` (the
   * browser is still starting; another call finds it), ...
   */
  async acquire(request: AcquireRequest): Promise<Lease> {
    const { signal = new AbortController().signal, onLost, onWaiting, waitSeconds = WAIT_SECONDS, ...fields } = request;
    const { waitSeconds: givenSeconds } = request;
    const { userId, ttlSeconds = LIMITS.ttlSecondsDefault } = fields;
    const clock = this.#clock;
    const deadlineMs = clock.nowMs() + waitSeconds * 1000;
    const absentDeadlineMs = givenSeconds === undefined ? clock.nowMs() + ABSENT_MS : deadlineMs;
    let heldSecondsMax = onWaiting ? SHOW_FIRST_SECONDS : LIMITS.waitSecondsMax;
    const showPlace = ({ extra }: OmicronError) => {
      if (!onWaiting || extra.position === undefined) return;
      heldSecondsMax = SHOW_SECONDS;
      onWaiting({ position: extra.position, expectedWaitSeconds: extra.expected_wait_seconds });
    };
    const leased = (leftMs: number, signal: AbortSignal, chosen?: ChosenProfile) => {
      const wait_seconds = Math.min(leftMs / 1000, heldSecondsMax);
      const body = { ...toSnakeCase({ ...fields, ...chosen, ttlSeconds }), wait_seconds };
      return this.#getOrCreate(userId, body, wait_seconds, signal);
    };
    const callsOf = ({ session_id, epoch }: ReadyLease, before?: ChosenProfile): LeaseApi => ({
      ...this.#callsOf(userId, session_id, epoch),
      async restore(signal, chosen = before) {
        const deadlineMs = clock.nowMs() + waitSeconds * 1000;
        const attempt = (leftMs: number) => leased(leftMs, signal, chosen);
        const answer = await retryAttempts(attempt, { clock, deadlineMs, signal, onRefused: showPlace });
        return { answer, calls: callsOf(answer, chosen) };
      },
    });
    return retryAttempts(
      async leftMs => {
        const renewedAtMs = clock.nowMs();
        const answer = await leased(leftMs, signal);
        const calls = callsOf(answer);
        return new Lease({ answer, calls, ttlSeconds, renewedAtMs, onLost, clock, fetch: this.#fetch });
      },
      { clock, deadlineMs, absentDeadlineMs, signal, onRefused: showPlace },
    );
  }

  /** `acquire`, then `connect` of the lease: a browser with its tools, in one call. */
  connect(request: AcquireRequest): Promise<ConnectedBrowser<Lease>> {
    return acquireAndConnect(() => this.acquire(request), this.#fetch);
  }

  /** One page of sessions, newest first. */
  list({ tags, signal, ...fields }: ListRequest = {}): Promise<SessionPage> {
    const query = { ...toSnakeCase(fields), tag: tagPairs(tags) };
    return this.#call({ method: 'GET', path: SESSIONS, userId: fields.userId, query, answer: sessionPage, signal });
  }

  async get(sessionId: string, options: CallOptions = {}): Promise<Session> {
    return this.#call({ method: 'GET', path: sessionPath(sessionId), answer: sessionSchema, ...options });
  }

  /** Ends the session's lease; with `epoch` only if it is that one (`lease_superseded` otherwise). */
  async end(
    sessionId: string,
    { epoch, ...options }: CallOptions & { epoch?: number | undefined } = {},
  ): Promise<Session> {
    const path = sessionPath(sessionId);
    return this.#call({ method: 'DELETE', path, query: { epoch }, answer: sessionSchema, ...options });
  }

  /** Ends the lease and takes the session off the list; its timeline and recordings stay. */
  async archive(sessionId: string, options: CallOptions = {}): Promise<Session> {
    return this.#call({ method: 'POST', path: `${sessionPath(sessionId)}/archive`, answer: sessionSchema, ...options });
  }

  /** A page of the session's timeline, oldest first; with `code` only events that have it, such as calls that were `policy_blocked`. */
  async listEvents(
    sessionId: string,
    { cursor, limit, code, ...options }: CallOptions & Partial<EventQuery> = {},
  ): Promise<EventPage> {
    const path = `${sessionPath(sessionId)}/events`;
    return this.#call({ method: 'GET', path, query: { cursor, limit, code }, answer: eventPage, ...options });
  }

  /**
   * Events of all sessions, of one user or of one session as they come, each once and in order. Keep the `id` of the last one that was
   * handled, and give it as `after` to go on after a restart. Goes on through restarts of controllers; throws when `signal` aborts.
   */
  followEvents(request: FollowRequest = {}): AsyncGenerator<StreamedEvent, void> {
    return followEvents(this.#connection, this.#fetch, this.#clock, request);
  }

  /** Artifacts of the session: its videos, its files, and its pages. */
  async listArtifacts(sessionId: string, options: CallOptions = {}): Promise<Artifact[]> {
    const path = `${sessionPath(sessionId)}/artifacts`;
    return (await this.#call({ method: 'GET', path, answer: artifactList, ...options })).artifacts;
  }

  /** The bytes of a stored artifact, or those from `start` to `end`, both inclusive. Throws `artifact_not_found`. */
  async readArtifact(
    sessionId: string,
    artifactId: string,
    options: CallOptions & Part = {},
  ): Promise<Uint8Array<ArrayBuffer>> {
    return this.#bytes(`${sessionPath(sessionId)}/artifacts/${encodeSegment(artifactId)}/content`, options);
  }

  /**
   * A URL of S3 that reads the artifact without a token, in parts too, until it expires: a minute, or up to five. Throws
   * `artifact_urls_unavailable` where artifacts are in a folder.
   */
  async createArtifactUrl(
    sessionId: string,
    artifactId: string,
    { ttlSeconds, ...options }: CallOptions & { ttlSeconds?: number | undefined } = {},
  ): Promise<ArtifactUrl> {
    const path = `${sessionPath(sessionId)}/artifacts/${encodeSegment(artifactId)}/url`;
    return this.#call({
      method: 'POST',
      path,
      body: { ttl_seconds: ttlSeconds },
      answer: artifactUrlAnswer,
      ...options,
    });
  }

  /**
   * Brings a file to the session's running browser: agents name it in `browser_file_upload`. A name is given once in a lease; the same
   * content again changes nothing. Throws `file_exists`, `payload_too_large`, `files_quota_exceeded`, `lease_ended`.
   */
  async putFile(
    sessionId: string,
    name: string,
    content: FileContent,
    options: CallOptions = {},
  ): Promise<SessionFile> {
    const path = `${filesPath(sessionId)}/${encodeSegment(name)}`;
    const answer = await this.#fileCall({ method: 'PUT', path, content, ...options });
    return sessionFile.parse(await answer.json());
  }

  /** Files that were brought in or downloaded, also after the lease's end; of equal names the newest. */
  async listFiles(sessionId: string, options: CallOptions = {}): Promise<ListedFile[]> {
    return (await this.#call({ method: 'GET', path: filesPath(sessionId), answer: fileList, ...options })).files;
  }

  /** The bytes of a file, or those from `start` to `end`, both inclusive. Throws `file_not_found`. */
  async readFile(sessionId: string, name: string, options: CallOptions & Part = {}): Promise<Uint8Array<ArrayBuffer>> {
    return this.#bytes(`${filesPath(sessionId)}/${encodeSegment(name)}`, options);
  }

  /** Requests of the session's agents to their user, oldest first. */
  async listUserActions(sessionId: string, options: CallOptions = {}): Promise<UserAction[]> {
    const path = `${sessionPath(sessionId)}/user-actions`;
    return (await this.#call({ method: 'GET', path, answer: userActionList, ...options })).user_actions;
  }

  /** Answers one user action; the first answer counts. */
  async answerUserAction(
    sessionId: string,
    actionId: string,
    answer: z.input<typeof userActionAnswer>,
    options: CallOptions = {},
  ): Promise<UserAction> {
    const path = `${sessionPath(sessionId)}/user-actions/${encodeSegment(actionId)}`;
    return this.#call({ method: 'POST', path, body: answer, answer: userAction, ...options });
  }

  /** Open requests of agents of all sessions, with the user of each; oldest first, at most 200. */
  async listPendingUserActions(signal?: AbortSignal): Promise<PendingUserActionList['user_actions']> {
    const path = '/internal/user-actions';
    return (await this.#call({ method: 'GET', path, answer: pendingUserActionList, signal })).user_actions;
  }

  /**
   * A token that opens one live view of the session's running browser within a minute (docs/live-view.md): an embedded preview asks
   * your page for one for each connection. `view` sees; `control` may also take control.
   */
  async createLiveToken(
    sessionId: string,
    { userId, signal, ...request }: CallOptions & z.input<typeof liveTokenRequest> = {},
  ): Promise<LiveTokenAnswer> {
    const path = `${sessionPath(sessionId)}/live-token`;
    return this.#call({ method: 'POST', path, body: request, answer: liveTokenAnswer, userId, signal });
  }

  /** Usage in a period by user, or by the values of a tag; those with the most lease seconds first. */
  getUsage({ tags, signal, ...fields }: UsageRequest = {}): Promise<UsageReport> {
    const query = { ...toSnakeCase(fields), tag: tagPairs(tags) };
    return this.#call({
      method: 'GET',
      path: '/internal/usage',
      userId: fields.userId,
      query,
      answer: usageReport,
      signal,
    });
  }

  /**
   * Removes everything of a user: sessions, events, files, videos, profiles, credentials, policies, user actions. If
   * `done` is false, the controller goes on by itself; repeat the call to learn when it is done.
   */
  deleteUser(userId: string, options: Omit<CallOptions, 'userId'> = {}): Promise<UserErasure> {
    return this.#call({ method: 'DELETE', path: userPath(userId), userId, answer: userErasure, ...options });
  }

  /** Site keys and the names an agent uses in place of the values; never a value. */
  listCredentials(userId: string): Promise<CredentialList> {
    return this.#call({ method: 'GET', path: credentialsPath(userId), userId, answer: credentialList });
  }

  /** Stores or replaces the credential of one site; leases that begin from now on have it. */
  async putCredential(userId: string, site: string, credential: Credential): Promise<void> {
    const path = `${credentialsPath(userId)}/${encodeSegment(site)}`;
    await this.#call({ method: 'PUT', path, userId, body: credential, answer: z.null() });
  }

  async deleteCredential(userId: string, site: string): Promise<void> {
    const path = `${credentialsPath(userId)}/${encodeSegment(site)}`;
    await this.#call({ method: 'DELETE', path, userId, answer: z.null() });
  }

  /** The user's profiles by name, with the domains that are logged in. */
  async listProfiles(userId: string): Promise<Profile[]> {
    return (await this.#call({ method: 'GET', path: profilesPath(userId), userId, answer: profileList })).profiles;
  }

  /** One profile with the versions that are kept. Throws `profile_not_found`. */
  async getProfile(userId: string, name: string): Promise<ProfileDetail> {
    return this.#call({ method: 'GET', path: profilePath(userId, name), userId, answer: profileDetail });
  }

  /**
   * Saves the profile now, e.g. right after a login, from the browser of the lease that has it for writing. Resolves with the
   * version that holds it. Throws `lease_ended` where no lease has it.
   */
  async saveProfile(userId: string, name: string): Promise<number> {
    const call = { method: 'POST', path: `${profilePath(userId, name)}/save`, userId, timeoutMs: PROFILE_MS } as const;
    return (await this.#call({ ...call, answer: profileSaved })).version;
  }

  /** D1: `saveProfile` by another name. */
  snapshotProfile(userId: string, name: string): Promise<number> {
    return this.saveProfile(userId, name);
  }

  /**
   * D1: `acquire` with this profile, or none, also where the conversation's live lease has another one: that lease saves its own and
   * ends, and the conversation goes on with another browser. Throws `profile_in_use`; then the lease stays as it is.
   */
  setProfile(request: AcquireRequest & { profile: string | null }): Promise<Lease> {
    return this.acquire({ ...request, profileSwitch: true });
  }

  /**
   * Makes an older version the current one, as a new version: the one before it unless given. Throws `profile_in_use` while a lease has
   * the profile.
   */
  async restoreProfile(userId: string, name: string, version?: number): Promise<number> {
    const call = { method: 'POST', path: `${profilePath(userId, name)}/restore`, userId, body: { version } } as const;
    return (await this.#call({ ...call, answer: profileSaved, timeoutMs: PROFILE_MS })).version;
  }

  /**
   * Whether a login of the saved profile still holds: opens a page in a browser of its own and looks for a selector or a text. Takes up
   * to a minute, and a place within the user's quota. Throws `profile_not_found`, `user_quota_exceeded`, ...
   */
  async checkProfile(userId: string, name: string, page: ProfileCheckRequest): Promise<ProfileCheck> {
    const call = { method: 'POST', path: `${profilePath(userId, name)}/check`, userId, body: page } as const;
    return this.#call({ ...call, answer: profileCheck, timeoutMs: CHECK_MS });
  }

  /** Deletes the profile with all its versions. Throws `profile_in_use` while a lease has it for writing. */
  async deleteProfile(userId: string, name: string): Promise<void> {
    await this.#call({ method: 'DELETE', path: profilePath(userId, name), userId, answer: z.null() });
  }

  /** The current version as Playwright's storageState. Its holder is logged in as the user. */
  async exportProfile(userId: string, name: string): Promise<ProfileState> {
    const path = `${profilePath(userId, name)}/state`;
    return this.#call({ method: 'GET', path, userId, answer: profileState, timeoutMs: PROFILE_MS });
  }

  /** Stores a storageState as the current version; makes the profile where there is none. */
  async importProfile(userId: string, name: string, state: ProfileState): Promise<number> {
    const call = { method: 'PUT', path: `${profilePath(userId, name)}/state`, userId, body: state } as const;
    return (await this.#call({ ...call, answer: profileSaved, timeoutMs: PROFILE_MS })).version;
  }

  /** The document of one layer; null: none is set. */
  async getPolicy(owner: PolicyOwner): Promise<PolicyDocument | null> {
    const answer = z.object({ policy: policyDocument.nullable() });
    return (await this.#call({ method: 'GET', path: policyPath(owner), answer })).policy;
  }

  /**
   * Replaces the document of one layer; running leases obey it within seconds. An invalid one is refused
   * (`invalid_request`, `errors` name the paths) and the one before stays in force.
   */
  async putPolicy(owner: PolicyOwner, policy: unknown): Promise<PolicyDocument> {
    const answer = z.object({ policy: policyDocument });
    return (await this.#call({ method: 'PUT', path: policyPath(owner), body: policy, answer })).policy;
  }

  async deletePolicy(owner: PolicyOwner): Promise<void> {
    await this.#call({ method: 'DELETE', path: policyPath(owner), answer: z.null() });
  }

  /** Every layer that applies to a session, widest first. */
  async getEffectivePolicy(sessionId: string, options: CallOptions = {}): Promise<EffectivePolicy> {
    const path = `${sessionPath(sessionId)}/policy/effective`;
    return this.#call({ method: 'GET', path, answer: effectivePolicy, ...options });
  }

  async #bytes(path: string, { start, end, ...options }: CallOptions & Part): Promise<Uint8Array<ArrayBuffer>> {
    const range = start === undefined && end === undefined ? undefined : `bytes=${start ?? 0}-${end ?? ''}`;
    const answer = await this.#fileCall({ method: 'GET', path, range, ...options });
    return new Uint8Array(await answer.arrayBuffer());
  }

  async #call<Answer>(call: UserCall<Answer>): Promise<Answer> {
    return (await this.#api(call)).value;
  }

  /** One attempt. Throws `lease_starting` when the controller's wait was not long enough. */
  async #getOrCreate(userId: string, body: object, waitSeconds: number, signal: AbortSignal): Promise<ReadyLease> {
    const { value, retryAfterSeconds = 1 } = await this.#api({
      method: 'POST',
      path: `${SESSIONS}/get-or-create`,
      userId,
      body,
      answer: leaseAnswer,
      signal,
      timeoutMs: waitSeconds * 1000 + NETWORK_MS,
    });
    const { status, session_id, mcp_url, mcp_headers } = value;
    if (status === 'ready' && mcp_url !== null && mcp_headers !== null) return { ...value, mcp_url, mcp_headers };
    throw new OmicronError('lease_starting', 'The browser is still starting; ask again for the same session.', {
      session_id,
      retryAfterSeconds,
    });
  }

  #callsOf(userId: string, sessionId: string, epoch: number): Omit<LeaseApi, 'restore'> {
    return {
      heartbeat: signal =>
        this.#call({
          method: 'POST',
          path: `${sessionPath(sessionId)}/heartbeat`,
          userId,
          body: { epoch },
          answer: heartbeatAnswer,
          signal,
          timeoutMs: HEARTBEAT_TIMEOUT_MS,
        }),
      release: () =>
        this.#call({
          method: 'POST',
          path: `${sessionPath(sessionId)}/release`,
          userId,
          body: { epoch },
          answer: sessionSchema,
          timeoutMs: RELEASE_TIMEOUT_MS,
        }),
      end: () => this.end(sessionId, { userId, epoch }),
    };
  }
}

const tagPairs = (tags: Tags = {}): string[] => Object.entries(tags).map(([key, value]) => `${key}:${value}`);

const SESSIONS = '/internal/browser-sessions';
const sessionPath = (sessionId: string) => `${SESSIONS}/${encodeSegment(sessionId)}`;
const filesPath = (sessionId: string) => `${sessionPath(sessionId)}/files`;
const userPath = (userId: string) => `/internal/users/${encodeSegment(userId)}`;
const credentialsPath = (userId: string) => `${userPath(userId)}/credentials`;
const profilesPath = (userId: string) => `${userPath(userId)}/profiles`;
const profilePath = (userId: string, name: string) => `${profilesPath(userId)}/${encodeSegment(name)}`;
const policyPath = (owner: PolicyOwner): string => {
  if ('sessionId' in owner) return `${sessionPath(owner.sessionId)}/policy`;
  return 'userId' in owner ? `${userPath(owner.userId)}/policy` : '/internal/policy';
};
