import { z } from 'zod';
import { type RedeemAnswer, redeemAnswer, totpAnswer } from '../../contract/assignment.ts';
import { type EffectivePolicy, effectivePolicy } from '../../contract/policy/document.ts';
import { OmicronError, type ProblemCode, problemSchema } from '../../contract/problem.ts';
import { type ArtifactReport, activityAnswer, type RunnerEvent } from '../../contract/reports.ts';
import { type UserAction, userAction, type userActionRequest } from '../../contract/user-action.ts';
import { type HttpAnswer, httpCalls } from '../../http/call.ts';

/** The controller as a runner sees it. Every call rejects with an OmicronError; `store_unavailable` may be retried. */
export interface ControllerClient {
  /** Resolves when the controller is there. Keeps a connection open, so that a redemption need not make one. */
  ping(signal: AbortSignal): Promise<void>;
  /** Hands over the secrets of the lease, once. */
  redeem(assignmentToken: string, signal: AbortSignal): Promise<RedeemAnswer>;
  /** Reports calls; answers the milliseconds left, counted from before this call, and which policy is in force. */
  activity(
    leaseToken: string,
    calls: number,
    signal: AbortSignal,
  ): Promise<{ remainingMs: number; policyVersion: string }>;
  /** The policy of the lease as it is now. */
  policy(leaseToken: string, signal: AbortSignal): Promise<EffectivePolicy>;
  /** The TOTP code of the moment for one of the user's sites. */
  totp(leaseToken: string, site: string, signal: AbortSignal): Promise<{ code: string; validMs: number }>;
  /** Asks the person of the lease, or, under the same id, how it stands. */
  askUser(leaseToken: string, request: z.input<typeof userActionRequest>, signal: AbortSignal): Promise<UserAction>;
  /** Writes events to the timeline; repeating them writes nothing twice. */
  events(token: string, events: RunnerEvent[], signal: AbortSignal): Promise<void>;
  /** Tells what became of a recording; idempotent by name. */
  artifact(artifactToken: string, report: ArtifactReport, signal: AbortSignal): Promise<void>;
}

/** One try is worth this long, beside what it asks the controller to wait; the caller's signal bounds all of them. */
const TRY_MS = 10_000;

/** The controller over HTTP. */
export function controllerClient(controllerUrl: string): ControllerClient {
  const call = httpCalls();
  async function send<T extends z.ZodType>(
    path: string,
    request: Parameters<typeof call>[1],
    answer: T,
    signal: AbortSignal,
    waitMs = 0,
  ): Promise<z.output<T>> {
    const inTime = AbortSignal.any([signal, AbortSignal.timeout(TRY_MS + waitMs)]);
    const response = await call(`${controllerUrl}${path}`, request, inTime).catch((cause: unknown) => {
      throw new OmicronError('store_unavailable', 'The controller could not be reached; try again.', { cause });
    });
    if (response.status < 200 || response.status > 299) throw problemOf(response);
    const parsed = answer.safeParse(parseJson(response.text));
    if (parsed.success) return parsed.data;
    throw new OmicronError(
      'internal_error',
      `The controller's answer to ${path} is not understood; update the runner.`,
    );
  }
  const post = <T extends z.ZodType>(
    path: string,
    token: string,
    body: unknown,
    answer: T,
    signal: AbortSignal,
    waitMs?: number,
  ) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    return send(path, { method: 'POST', headers, body: JSON.stringify(body) }, answer, signal, waitMs);
  };
  return {
    ping: async signal => {
      await send('/healthz', { method: 'GET' }, z.unknown(), signal);
    },
    redeem: (token, signal) => post('/internal/runner-secrets', token, {}, redeemAnswer, signal),
    activity: async (token, calls, signal) => {
      const answer = await post('/internal/runner-activity', token, { calls }, activityAnswer, signal);
      return { remainingMs: answer.remaining_ms, policyVersion: answer.policy_version };
    },
    policy: (token, signal) =>
      send(
        '/internal/runner-policy',
        { method: 'GET', headers: { authorization: `Bearer ${token}` } },
        effectivePolicy,
        signal,
      ),
    totp: async (token, site, signal) => {
      const { code, valid_ms } = await post('/internal/runner-totp', token, { site }, totpAnswer, signal);
      return { code, validMs: valid_ms };
    },
    askUser: (token, request, signal) =>
      post('/internal/runner-user-actions', token, request, userAction, signal, request.wait_ms),
    events: async (token, events, signal) => {
      await post('/internal/runner-events', token, { events }, z.unknown(), signal);
    },
    artifact: async (token, report, signal) => {
      await post('/internal/runner-artifacts', token, report, z.unknown(), signal);
    },
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function problemOf(response: HttpAnswer): OmicronError {
  const retryAfter = Number(response.retryAfter ?? Number.NaN);
  const problem = problemSchema.safeParse(parseJson(response.text));
  if (problem.success) {
    const seconds = problem.data.retry_after_seconds ?? (Number.isFinite(retryAfter) ? retryAfter : undefined);
    return OmicronError.fromProblem(
      seconds === undefined ? problem.data : { ...problem.data, retry_after_seconds: Math.ceil(seconds) },
    );
  }
  // A status without a problem document comes from something in between: only the status can be trusted.
  if (response.status === 401 || response.status === 403)
    return new OmicronError('unauthorized', `The controller refused the token with status ${response.status}.`);
  if (response.status === 404 || response.status === 409)
    return new OmicronError(
      'lease_ended',
      `The controller answered ${response.status}: the lease is not known any more.`,
    );
  return new OmicronError('store_unavailable', `The controller answered ${response.status}; try again.`);
}

const PASSING: readonly ProblemCode[] = ['store_unavailable', 'shutting_down', 'secrets_unavailable', 'internal_error'];

/** Whether the same call may succeed later: the controller, its database or the secret store is out of reach. */
export const worthRetrying = (error: unknown): boolean => error instanceof OmicronError && PASSING.includes(error.code);
