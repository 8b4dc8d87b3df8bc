import * as z from 'zod';
import { SOURCE_REPOSITORY } from './source-repository.ts';

type ProblemTable = Record<string, { status: number; title: string }>;

/**
 * Every error of the API: a stable code, its HTTP status and title. An RFC 9457 problem document has the code as
 * `code` and at the end of `type`; `detail` says what is wrong and what to do.
 */
export const API_PROBLEMS = {
  invalid_request: { status: 400, title: 'Invalid request' },
  unauthorized: { status: 401, title: 'Invalid token' },
  forbidden: { status: 403, title: 'Not allowed by this token' },
  origin_refused: { status: 403, title: 'Origin or host not allowed' },
  session_not_found: { status: 404, title: 'Session not found' },
  artifact_not_found: { status: 404, title: 'Artifact not found' },
  user_action_not_found: { status: 404, title: 'User action not found' },
  file_not_found: { status: 404, title: 'File not found' },
  profile_not_found: { status: 404, title: 'Profile not found' },
  webhook_not_found: { status: 404, title: 'Webhook not found' },
  credential_not_found: { status: 404, title: 'Credential not found' },
  route_not_found: { status: 404, title: 'Route not found' },
  method_not_allowed: { status: 405, title: 'Method not allowed' },
  lease_superseded: { status: 409, title: 'Superseded by a newer lease' },
  lease_ended: { status: 409, title: 'Lease ended' },
  lease_in_use: { status: 409, title: 'Lease in use' },
  file_exists: { status: 409, title: 'File name taken' },
  profile_in_use: { status: 409, title: 'Profile in use' },
  profile_changed: { status: 409, title: 'Profile changed' },
  profile_mismatch: { status: 409, title: 'Lease has another profile' },
  provider_mismatch: { status: 409, title: 'Lease lives at another provider' },
  assignment_refused: { status: 409, title: 'Runner assigned to another lease' },
  redemption_refused: { status: 409, title: 'Redemption refused' },
  predecessor_draining: { status: 503, title: 'Previous runner still draining' },
  payload_too_large: { status: 413, title: 'Request body too large' },
  profile_too_large: { status: 413, title: 'Profile too large' },
  unsupported_media_type: { status: 415, title: 'Request body must be JSON' },
  credentials_not_configured: { status: 422, title: 'No credentials stored for this user' },
  profiles_not_configured: { status: 422, title: 'Profiles not configured' },
  artifact_urls_unavailable: { status: 422, title: 'Artifact store has no URLs' },
  not_held_remotely: { status: 422, title: 'Not possible with a remote browser' },
  webhooks_quota_exceeded: { status: 422, title: 'Too many webhooks' },
  files_quota_exceeded: { status: 422, title: 'Quota of files exceeded' },
  profile_unreadable: { status: 422, title: 'Version of the profile cannot be read' },
  profile_quota_exceeded: { status: 422, title: 'Profile quota exceeded' },
  user_quota_exceeded: { status: 429, title: 'User quota exceeded' },
  capacity_exceeded: { status: 429, title: 'Capacity exceeded' },
  too_many_requests: { status: 429, title: 'Too many requests' },
  internal_error: { status: 500, title: 'Internal error' },
  runner_start_failed: { status: 503, title: 'Runner start failed' },
  browser_crashed: { status: 503, title: 'Browser crashed' },
  sandbox_runtime_required: { status: 503, title: 'Chromium sandbox not available' },
  store_unavailable: { status: 503, title: 'Database unavailable' },
  profile_unavailable: { status: 503, title: 'Profile cannot be read or written' },
  secrets_unavailable: { status: 503, title: 'Secret store unavailable' },
  issuer_unavailable: { status: 503, title: 'Issuer of access tokens unavailable' },
  shutting_down: { status: 503, title: 'Shutting down' },
  // Raised by clients, and answered by the servers that are clients too: a runner, the gateway, the console.
  controller_unreachable: { status: 503, title: 'Controller unreachable' },
  browser_unreachable: { status: 503, title: 'Browser unreachable' },
  lease_starting: { status: 503, title: 'Lease still starting' },
} as const satisfies ProblemTable;

/** Errors of the SDK and the command within their own process; no server answers them. */
export const CLIENT_PROBLEMS = {
  lease_released: { status: 409, title: 'Lease released' },
  not_configured: { status: 422, title: 'Client not configured' },
  stack_running: { status: 409, title: 'Local stack already running' },
} as const satisfies ProblemTable;

/** Every code that an OmicronError may have. */
export const PROBLEMS = { ...API_PROBLEMS, ...CLIENT_PROBLEMS };

/** The page of all codes. */
const ERRORS_PAGE = `${SOURCE_REPOSITORY}/blob/main/docs/reference/errors.md`;

export type ApiProblemCode = keyof typeof API_PROBLEMS;
export type ProblemCode = keyof typeof PROBLEMS;

export const isApiProblem = (code: string): code is ApiProblemCode => Object.hasOwn(API_PROBLEMS, code);

/** RFC 9457 document. A 429 has `limit` and `active`. */
export const problemSchema = z
  .object({
    // any text: an ingress or a proxy answers problems of its own, `about:blank` among them
    type: z.string().describe('URL of the page that explains the kind of problem; its fragment is `code`.'),
    title: z.string().describe('Summary of the kind of problem.'),
    status: z.int().describe('HTTP status of the answer.'),
    code: z
      .enum(Object.keys(API_PROBLEMS) as [ApiProblemCode, ...ApiProblemCode[]])
      .describe('Stable code for programs.'),
    detail: z.string().describe('Explanation of this problem, and what to do.'),
    session_id: z.string().optional().describe('Session that is meant, where there is one.'),
    retry_after_seconds: z
      .int()
      .optional()
      .describe('Seconds after which the same request may succeed, as in `Retry-After`.'),
    limit: z.int().optional().describe('Limit that was reached, with a status of 429.'),
    active: z.int().optional().describe('Number that counts towards `limit` now, with a status of 429.'),
    position: z
      .int()
      .optional()
      .describe(
        'Place in the line of callers, from 1, with `capacity_exceeded`; kept for a caller that comes back in time.',
      ),
    expected_wait_seconds: z
      .int()
      .optional()
      .describe('Seconds until a browser comes free for this place, by those that came free in the last minute.'),
    errors: z
      .array(
        z.object({
          path: z.string().describe('Path of the value in the request, such as `tools[2].when[0].value`.'),
          message: z.string().describe('Condition that the value must meet.'),
        }),
      )
      .optional()
      .describe('Each value that is wrong in an invalid request.'),
  })
  .meta({ id: 'Problem' });
export type Problem = z.infer<typeof problemSchema>;

/** Members of a problem document that an error keeps as `extra`. */
const EXTRA = ['session_id', 'limit', 'active', 'position', 'expected_wait_seconds', 'errors'] as const;
type Extra = Partial<Pick<Problem, (typeof EXTRA)[number]>>;

/**
 * The one error class. `message` says what is wrong and what to do, and never contains a secret; `retryAfterSeconds`
 * says when the same call may succeed.
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

  /** As a server answers it; an error of its process as a client is an `internal_error`. */
  toProblem(): Problem {
    const code = isApiProblem(this.code) ? this.code : 'internal_error';
    const { status, title } = API_PROBLEMS[code];
    return {
      type: `${ERRORS_PAGE}#${code}`,
      title,
      status,
      code,
      detail: this.message,
      ...(this.retryAfterSeconds === undefined ? {} : { retry_after_seconds: this.retryAfterSeconds }),
      ...this.extra,
    };
  }

  /** The error that a problem document describes. */
  static fromProblem(problem: Problem): OmicronError {
    const given = Object.entries(problem).filter(([name]) => (EXTRA as readonly string[]).includes(name));
    return new OmicronError(problem.code, problem.detail, {
      ...(problem.retry_after_seconds === undefined ? {} : { retryAfterSeconds: problem.retry_after_seconds }),
      ...(Object.fromEntries(given.filter(([, value]) => value !== undefined)) as Extra),
    });
  }
}

/** Content type of a problem document: <https://www.rfc-editor.org/rfc/rfc9457>. */
export const PROBLEM_TYPE = 'application/problem+json';
