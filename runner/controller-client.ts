import { z } from 'zod';
import { type RedeemAnswer, redeemAnswer } from '../contract/assignment.ts';
import { OmicronError, type ProblemCode, problemSchema } from '../contract/problem.ts';
import { type ArtifactReport, activityAnswer, type RunnerEvent } from '../contract/reports.ts';

/** The controller as a runner sees it. Every call rejects with an OmicronError; `store_unavailable` may be retried. */
export interface ControllerClient {
  /** Hands over the secrets of the lease, once. */
  redeem(brokerToken: string, signal: AbortSignal): Promise<RedeemAnswer>;
  /** Reports calls; answers the milliseconds left, counted from before this call. */
  activity(leaseToken: string, calls: number, signal: AbortSignal): Promise<{ remainingMs: number }>;
  /** Writes events to the timeline; repeating them writes nothing twice. */
  events(token: string, events: RunnerEvent[], signal: AbortSignal): Promise<void>;
  /** Tells what became of a recording; idempotent by name. */
  artifact(artifactToken: string, report: ArtifactReport, signal: AbortSignal): Promise<void>;
}

/** One try is worth this long; the caller's signal bounds all of them. */
const TRY_MS = 10_000;

/** The controller over HTTP. */
export function controllerClient(controllerUrl: string): ControllerClient {
  async function post<T extends z.ZodType>(
    path: string,
    token: string,
    body: unknown,
    answer: T,
    signal: AbortSignal,
  ): Promise<z.output<T>> {
    const response = await fetch(`${controllerUrl}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      redirect: 'error',
      signal: AbortSignal.any([signal, AbortSignal.timeout(TRY_MS)]),
    }).catch((cause: unknown) => {
      throw new OmicronError('store_unavailable', 'The controller could not be reached; try again.', { cause });
    });
    const text = await response.text().catch(() => '');
    if (!response.ok) throw problemOf(response, text);
    const parsed = answer.safeParse(parseJson(text));
    if (parsed.success) return parsed.data;
    throw new OmicronError(
      'internal_error',
      `The controller's answer to ${path} is not understood; update the runner.`,
    );
  }
  return {
    redeem: (token, signal) => post('/internal/runner-secrets', token, {}, redeemAnswer, signal),
    activity: async (token, calls, signal) => {
      const answer = await post('/internal/runner-activity', token, { calls }, activityAnswer, signal);
      return { remainingMs: answer.remaining_ms };
    },
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

function problemOf(response: Response, text: string): OmicronError {
  const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN);
  const problem = problemSchema.safeParse(parseJson(text));
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
