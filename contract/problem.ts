import * as z from 'zod';

/**
 * Every error that crosses a wire: a stable code, its HTTP status and title. RFC 9457 problem documents carry the code
 * as `code` and as the end of `type`; `detail` is a sentence that says what to do.
 */
export const PROBLEMS = {
  invalid_request: { status: 400, title: 'The request is not valid' },
  unauthorized: { status: 401, title: 'The token was not accepted' },
  forbidden: { status: 403, title: 'The token does not allow this' },
  session_not_found: { status: 404, title: 'There is no such session' },
  artifact_not_found: { status: 404, title: 'There is no such artifact' },
  user_action_not_found: { status: 404, title: 'There is no such request' },
  credential_not_found: { status: 404, title: 'There is no such credential' },
  route_not_found: { status: 404, title: 'There is no such route' },
  lease_superseded: { status: 409, title: 'A newer lease of this session exists' },
  lease_ended: { status: 409, title: 'The lease has ended' },
  assignment_refused: { status: 409, title: 'The runner belongs to another lease' },
  redemption_refused: { status: 409, title: 'The secrets of this lease cannot be redeemed' },
  predecessor_draining: { status: 503, title: 'The runner of the lease before has not stopped yet' },
  payload_too_large: { status: 413, title: 'The request is too large' },
  unsupported_media_type: { status: 415, title: 'The request body must be JSON' },
  credentials_not_configured: { status: 422, title: 'No credentials are stored for this user' },
  user_quota_exceeded: { status: 429, title: 'The user has reached the limit of active sessions' },
  capacity_exceeded: { status: 429, title: 'All browsers are in use' },
  internal_error: { status: 500, title: 'The controller failed' },
  runner_start_failed: { status: 503, title: 'The runner did not start' },
  browser_crashed: { status: 503, title: 'The browser crashed' },
  sandbox_runtime_required: { status: 503, title: "Chromium's sandbox cannot run here" },
  store_unavailable: { status: 503, title: 'The database cannot be reached' },
  secrets_unavailable: { status: 503, title: 'The secret store cannot be reached' },
  shutting_down: { status: 503, title: 'This replica is stopping' },
  // Raised by a client, never sent by a server:
  controller_unreachable: { status: 503, title: 'The controller cannot be reached' },
  lease_starting: { status: 503, title: 'The browser is still starting' },
  not_configured: { status: 422, title: 'The client was not told where its browsers are' },
  stack_running: { status: 409, title: 'A local stack already runs in this folder' },
} as const satisfies Record<string, { status: number; title: string }>;

export type ProblemCode = keyof typeof PROBLEMS;

/** RFC 9457 document. `limit` and `active` stand beside a 429. */
export const problemSchema = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    code: z.enum(Object.keys(PROBLEMS) as [ProblemCode, ...ProblemCode[]]),
    detail: z.string(),
    session_id: z.string().optional(),
    retry_after_seconds: z.int().optional(),
    limit: z.int().optional(),
    active: z.int().optional(),
    errors: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
  })
  .meta({ id: 'Problem' });
export type Problem = z.infer<typeof problemSchema>;

type Extra = Pick<Problem, 'session_id' | 'limit' | 'active' | 'errors'>;

/**
 * The one error class. `message` tells the reader what to do next and never holds a secret; `retryAfterSeconds` says
 * when the same call may succeed.
 */
export class OmicronError extends Error {
  readonly code: ProblemCode;
  readonly retryAfterSeconds: number | undefined;
  readonly extra: Extra;

  constructor(
    code: ProblemCode,
    message: string,
    options: { retryAfterSeconds?: number; cause?: unknown } & Extra = {},
  ) {
    const { retryAfterSeconds, cause, ...extra } = options;
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'OmicronError';
    this.code = code;
    this.retryAfterSeconds = retryAfterSeconds;
    this.extra = extra;
  }

  toProblem(): Problem {
    const { status, title } = PROBLEMS[this.code];
    return {
      type: `urn:omicron-browser:problem:${this.code}`,
      title,
      status,
      code: this.code,
      detail: this.message,
      ...(this.retryAfterSeconds === undefined ? {} : { retry_after_seconds: this.retryAfterSeconds }),
      ...this.extra,
    };
  }

  /** The error that a problem document stands for. */
  static fromProblem(problem: Problem): OmicronError {
    const { session_id, limit, active, errors } = problem;
    return new OmicronError(problem.code, problem.detail, {
      ...(problem.retry_after_seconds === undefined ? {} : { retryAfterSeconds: problem.retry_after_seconds }),
      ...(session_id === undefined ? {} : { session_id }),
      ...(limit === undefined ? {} : { limit }),
      ...(active === undefined ? {} : { active }),
      ...(errors === undefined ? {} : { errors }),
    });
  }
}

/** Content type of a problem document: <https://www.rfc-editor.org/rfc/rfc9457>. */
export const PROBLEM_TYPE = 'application/problem+json';

/** S10: the text of a tool result whose action ran out of time, e.g. `browser_action_timeout:browser_click:5s`. */
export const actionTimeout = (tool: string, seconds: number): string => `browser_action_timeout:${tool}:${seconds}s`;
