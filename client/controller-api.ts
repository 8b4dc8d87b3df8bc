import * as z from 'zod';
import { OmicronError, PROBLEMS, type ProblemCode, problemSchema } from '../contract/problem.ts';
import { serviceKey, signServiceToken } from '../contract/tokens.ts';

/** Where a controller is, and the secret under which calls to it are signed. */
export interface Connection {
  /** e.g. `http://browser-session-controller.omicron-browser-system:8080`. */
  url: string;
  /** At least 32 bytes, shared with the controller. */
  serviceSecret: string;
}

export interface Call<Answer> {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Below the controller's URL; ids in it are encoded. */
  path: string;
  /** Limits the call's token to this user: sessions of others are not found. */
  userId?: string | undefined;
  query?: Record<string, string | string[] | number | boolean | undefined>;
  body?: unknown;
  answer: z.ZodType<Answer>;
  signal?: AbortSignal | undefined;
  timeoutMs?: number;
}

export interface Answered<Answer> {
  value: Answer;
  retryAfterSeconds: number | undefined;
}

export type ControllerApi = <Answer>(call: Call<Answer>) => Promise<Answered<Answer>>;

const TIMEOUT_MS = 15_000;

/** Reads a problem of a newer controller too: only its code may be unknown here. */
const anyProblem = problemSchema.extend({ code: z.string() });

/**
 * Calls of one controller, each with a fresh token of 60 s (O5). Throws OmicronError: the controller's problem, or
 * `controller_unreachable` when no answer of its own came. An aborted `signal` throws its reason.
 */
export function controllerApi(connection: Connection, fetch: typeof globalThis.fetch): ControllerApi {
  const key = serviceKey(connection.serviceSecret);
  const base = connection.url.replace(/\/+$/, '');

  return async call => {
    const { method, path, userId, body, signal, timeoutMs = TIMEOUT_MS } = call;
    const timeout = AbortSignal.timeout(Math.ceil(timeoutMs));
    const url = `${base}${path}${queryOf(call.query ?? {})}`;
    try {
      const response = await fetch(url, {
        method,
        headers: {
          authorization: `Bearer ${await signServiceToken(key, userId)}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        redirect: 'error', // the token is for this controller
        signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
      });
      const retryAfterSeconds = retryAfter(response);
      const text = await response.text();
      if (!response.ok) throw problemOf(response, text, retryAfterSeconds, base);
      return { value: call.answer.parse(text === '' ? null : JSON.parse(text)), retryAfterSeconds };
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof OmicronError) throw error;
      if (error instanceof z.ZodError || error instanceof SyntaxError)
        throw new OmicronError(
          'internal_error',
          `${base} answered ${method} ${path.split('?')[0]} with something else than a controller does; check the URL and that client and controller have the same version.`,
          { cause: error },
        );
      const why = timeout.aborted ? `did not answer within ${Math.ceil(timeoutMs / 1000)} s` : 'could not be reached';
      throw new OmicronError('controller_unreachable', `${base} ${why}; check that the controller runs there.`, {
        cause: error,
      });
    }
  };
}

function queryOf(query: NonNullable<Call<unknown>['query']>): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== undefined) for (const each of [value].flat()) search.append(name, String(each));
  const text = search.toString();
  return text === '' ? '' : `?${text}`;
}

/** Retry-After in seconds; the date form is a proxy's: <https://www.rfc-editor.org/rfc/rfc9110#field.retry-after>. */
function retryAfter(response: Response): number | undefined {
  const text = response.headers.get('retry-after');
  if (text === null) return undefined;
  if (/^\d+$/.test(text)) return Number(text);
  const atMs = Date.parse(text);
  return Number.isNaN(atMs) ? undefined : Math.max(0, Math.ceil((atMs - Date.now()) / 1000));
}

const isKnown = (code: string): code is ProblemCode => Object.hasOwn(PROBLEMS, code);

function problemOf(
  response: Response,
  text: string,
  retryAfterSeconds: number | undefined,
  base: string,
): OmicronError {
  const told = retryAfterSeconds === undefined ? {} : { retryAfterSeconds };
  const code = response.status === 429 || response.status >= 500 ? 'controller_unreachable' : 'internal_error';
  let problem: z.infer<typeof anyProblem>;
  try {
    problem = anyProblem.parse(JSON.parse(text));
  } catch (cause) {
    // not the controller's own words: something in between, or another service
    const detail = `${base} answered ${response.status} without a problem document; check that the URL is the controller's.`;
    return new OmicronError(code, detail, { ...told, cause });
  }
  if (!isKnown(problem.code)) return new OmicronError(code, `${problem.code}: ${problem.detail}`, told);
  return OmicronError.fromProblem({
    ...problem,
    code: problem.code,
    retry_after_seconds: problem.retry_after_seconds ?? retryAfterSeconds,
  });
}
