import { z } from 'zod';
import { type RedeemAnswer, redeemAnswer, totpAnswer } from '../../contract/assignment.ts';
import {
  type HibernateOrder,
  type HibernationRequest,
  type SessionSnapshot,
  sessionSnapshot,
} from '../../contract/hibernation.ts';
import { type LiveSocketAnswer, liveSocketAnswer } from '../../contract/live-exchange.ts';
import { type EffectivePolicy, effectivePolicy } from '../../contract/policy/document.ts';
import { OmicronError, type ProblemCode } from '../../contract/problem.ts';
import {
  type Profile,
  type ProfileChoice,
  type ProfileContent,
  profileChunksStored,
  profileList,
  profileSaved,
  type RunnerProfile,
  runnerProfile,
} from '../../contract/profile.ts';
import { type PlainChunk, packChunks } from '../../contract/profile-chunks.ts';
import { type ArtifactReport, activityAnswer, type RunnerEvent } from '../../contract/reports.ts';
import {
  type AskedUserAction,
  askedUserAction,
  type UserActionChatAnswer,
  userAction,
  type userActionRequest,
} from '../../contract/user-action.ts';
import { type HttpCall, httpCalls, httpExchanges } from '../../http/call.ts';
import { type ApiCall, problemClient } from '../../http/problem-client.ts';
import { withTraceHeaders } from '../../process/tracing.ts';
import { bytesCall } from './bytes-call.ts';
import { ofOtherRelease } from './other-release.ts';

/**
 * The controller as a runner sees it. Every call rejects with an OmicronError, of which `worthRetrying` says whether the call
 * may be repeated, or with the reason of the signal that ended it.
 */
export interface ControllerClient {
  /** Resolves when the controller is there. Keeps a connection open, so that a redemption need not make one. */
  ping(signal: AbortSignal): Promise<void>;
  /** Hands over the secrets of the lease, once; again with the same key, since the answer may have been lost. */
  redeem(assignmentToken: string, idempotencyKey: string, signal: AbortSignal): Promise<RedeemAnswer>;
  /** Reports calls; answers the milliseconds left and held, counted from before this call, and which policy is in force. */
  activity(
    leaseToken: string,
    calls: number,
    signal: AbortSignal,
  ): Promise<{ remainingMs: number; policyVersion: string; heldMs: number }>;
  /** The policy of the lease as it is now. */
  policy(leaseToken: string, signal: AbortSignal): Promise<EffectivePolicy>;
  /** The TOTP code of the moment for one of the user's sites. */
  totp(leaseToken: string, site: string, signal: AbortSignal): Promise<{ code: string; validMs: number }>;
  /** Asks the person of the lease, or, under the same id, how it stands. */
  askUser(
    leaseToken: string,
    request: z.input<typeof userActionRequest>,
    signal: AbortSignal,
  ): Promise<AskedUserAction>;
  /** Passes on what the person in the chat answers; the first answer counts. */
  answerUser(leaseToken: string, id: string, answer: UserActionChatAnswer, signal: AbortSignal): Promise<void>;
  /** Address at which the person of the lease may open one socket of its live view. */
  liveSocket(leaseToken: string, signal: AbortSignal): Promise<LiveSocketAnswer['socket']>;
  /** The profile that the browser of the lease starts with. */
  profile(leaseToken: string, signal: AbortSignal): Promise<RunnerProfile>;
  /** Saves it over the version `base`. Resolves with the version that holds it. */
  saveProfile(leaseToken: string, base: number, content: ProfileContent, signal: AbortSignal): Promise<number>;
  /** Chunks of what the lease starts with, one after the other; at most as many as `PROFILE_LIMITS` has for one request. */
  readProfileChunks(leaseToken: string, objects: readonly string[], signal: AbortSignal): Promise<Buffer>;
  /** Stores chunks for a save over the version `base`, as many as `PROFILE_LIMITS` has for one request. Resolves with their names. */
  writeProfileChunks(
    leaseToken: string,
    base: number,
    chunks: readonly PlainChunk[],
    signal: AbortSignal,
  ): Promise<string[]>;
  /** This runner saves it no more. */
  releaseProfile(leaseToken: string, signal: AbortSignal): Promise<void>;
  /** The state of the hibernated session that comes back. */
  snapshot(leaseToken: string, signal: AbortSignal): Promise<SessionSnapshot>;
  /** Keeps the snapshot and ends the lease, in one step; may be repeated. Rejects with `lease_in_use` where the lease goes on. */
  hibernate(leaseToken: string, order: HibernateOrder, snapshot: SessionSnapshot, signal: AbortSignal): Promise<void>;
  /** The profiles of the lease's user; nothing of their content but the domains. */
  listProfiles(leaseToken: string, signal: AbortSignal): Promise<Profile[]>;
  /** Makes an older version of one of them the current one. Resolves with the version that holds it. */
  restoreProfile(leaseToken: string, name: string, version: number | undefined, signal: AbortSignal): Promise<number>;
  /** Replaces the lease by one with this profile: then this runner ends. */
  chooseProfile(leaseToken: string, choice: ProfileChoice, signal: AbortSignal): Promise<void>;
  /** Writes events to the timeline; repeating them writes nothing twice. `firstPageMs`: how long the first page took, once for a lease. */
  events(token: string, events: RunnerEvent[], firstPageMs: number | undefined, signal: AbortSignal): Promise<void>;
  /** Says what became of a recording; idempotent by name. */
  artifact(artifactToken: string, report: ArtifactReport, signal: AbortSignal): Promise<void>;
}

/** One try is worth this long, beside what it asks the controller to wait; the caller's signal bounds all of them. */
const TRY_MS = 10_000;

/** The controller over HTTP. `onRedeemed` is called with each redemption's answer. */
export function controllerClient(
  controllerUrl: string,
  onRedeemed: (answer: RedeemAnswer) => void = () => {},
): ControllerClient {
  const send = problemClient(
    {
      url: controllerUrl,
      name: 'The controller',
      unreachable: 'controller_unreachable',
      garbled: 'internal_error',
      statuses: { 401: 'unauthorized', 403: 'unauthorized', 404: 'lease_ended', 409: 'lease_ended' },
    },
    traced(httpCalls()),
  );
  const exchange = httpExchanges();
  const call = <T>(request: ApiCall<T>) =>
    send(request).catch((error: unknown) => {
      throw ofOtherRelease(error, request.path);
    });
  const get = async <T>(path: string, token: string | undefined, answer: z.ZodType<T>, signal: AbortSignal) =>
    (await call({ method: 'GET', path, token, answer, signal, timeoutMs: TRY_MS })).value;
  const post = async <T>(
    path: string,
    token: string,
    body: unknown,
    answer: z.ZodType<T>,
    signal: AbortSignal,
    waitMs = 0,
  ) => (await call({ method: 'POST', path, token, body, answer, signal, timeoutMs: TRY_MS + waitMs })).value;
  return {
    ping: async signal => {
      await get('/healthz', undefined, z.unknown(), signal);
    },
    redeem: async (token, idempotencyKey, signal) => {
      const request = { method: 'POST', path: '/internal/runner-secrets', token, idempotencyKey } as const;
      const { value } = await call({ ...request, answer: redeemAnswer, signal, timeoutMs: TRY_MS });
      onRedeemed(value);
      return value;
    },
    activity: async (token, calls, signal) => {
      const answer = await post('/internal/runner-activity', token, { calls }, activityAnswer, signal);
      return { remainingMs: answer.remaining_ms, policyVersion: answer.policy_version, heldMs: answer.held_ms };
    },
    policy: (token, signal) => get('/internal/runner-policy', token, effectivePolicy, signal),
    totp: async (token, site, signal) => {
      const { code, valid_ms } = await post('/internal/runner-totp', token, { site }, totpAnswer, signal);
      return { code, validMs: valid_ms };
    },
    askUser: (token, request, signal) =>
      post('/internal/runner-user-actions', token, request, askedUserAction, signal, request.wait_ms),
    answerUser: async (token, id, answer, signal) => {
      await post(`/internal/runner-user-actions/${id}`, token, answer, userAction, signal);
    },
    liveSocket: async (token, signal) =>
      (await post('/internal/runner-live-socket', token, {}, liveSocketAnswer, signal)).socket,
    profile: (token, signal) => get('/internal/runner-profile', token, runnerProfile, signal),
    saveProfile: async (token, base_version, content, signal) => {
      const request = {
        method: 'PUT',
        path: '/internal/runner-profile',
        token,
        body: { base_version, ...content },
      } as const;
      return (await call({ ...request, answer: profileSaved, signal, timeoutMs: TRY_MS })).value.version;
    },
    readProfileChunks: (token, objects, signal) => {
      const url = `${controllerUrl}/internal/runner-profile/chunks/read`;
      return bytesCall(exchange, url, { token, body: JSON.stringify({ objects }), signal });
    },
    writeProfileChunks: async (token, base, chunks, signal) => {
      const url = `${controllerUrl}/internal/runner-profile/chunks/write?base_version=${base}`;
      const answer = await bytesCall(exchange, url, { token, body: packChunks(chunks), signal });
      return profileChunksStored.parse(JSON.parse(answer.toString())).objects;
    },
    releaseProfile: async (token, signal) => {
      const request = { method: 'DELETE', path: '/internal/runner-profile', token } as const;
      await call({ ...request, answer: z.unknown(), signal, timeoutMs: TRY_MS });
    },
    snapshot: (token, signal) => get('/internal/runner-hibernation', token, sessionSnapshot, signal),
    hibernate: async (token, { why, idle_seconds }, snapshot, signal) => {
      const body: HibernationRequest = { why, idle_seconds, snapshot };
      const request = { method: 'PUT', path: '/internal/runner-hibernation', token, body } as const;
      await call({ ...request, answer: z.unknown(), signal, timeoutMs: TRY_MS });
    },
    listProfiles: async (token, signal) =>
      (await get('/internal/runner-profiles', token, profileList, signal)).profiles,
    restoreProfile: async (token, name, version, signal) =>
      (await post(`/internal/runner-profiles/${name}/restore`, token, { version }, profileSaved, signal)).version,
    chooseProfile: async (token, choice, signal) => {
      await post('/internal/runner-profiles/choice', token, choice, z.unknown(), signal);
    },
    events: async (token, events, firstPageMs, signal) => {
      const body = { events, first_page_ms: firstPageMs };
      await post('/internal/runner-events', token, body, z.unknown(), signal);
    },
    artifact: async (token, report, signal) => {
      await post('/internal/runner-artifacts', token, report, z.unknown(), signal);
    },
  };
}

const traced =
  (send: HttpCall): HttpCall =>
  (url, request, signal) =>
    send(url, withTraceHeaders(request), signal);

const PASSING: readonly ProblemCode[] = [
  'controller_unreachable',
  'store_unavailable',
  'shutting_down',
  'secrets_unavailable',
  'internal_error',
];

/** Whether the same call may succeed later: the controller, its database or the secret store is out of reach. */
export const worthRetrying = (error: unknown): boolean => error instanceof OmicronError && PASSING.includes(error.code);
