import * as z from 'zod';
import { isApiProblem, OmicronError, type Problem, type ProblemCode, problemSchema } from '../contract/problem.ts';
import { type Clock, realClock, timeoutSignal } from '../time/clock.ts';
import type { HttpAnswer, HttpCall } from './call.ts';

/** One call of a JSON API whose errors are problem documents (RFC 9457). */
export interface ApiCall<Answer> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Below the base URL; ids in it are encoded, and it has no query. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | readonly string[] | number | boolean | undefined>>;
  /** Bearer token. */
  readonly token?: string | undefined;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** The same for each try of one call that is done once. */
  readonly idempotencyKey?: string | undefined;
  readonly answer: z.ZodType<Answer>;
  readonly signal?: AbortSignal | undefined;
  /** For the whole call, its answer's body included. */
  readonly timeoutMs: number;
}

export interface Answered<Answer> {
  readonly value: Answer;
  /** Seconds of the header `retry-after`. */
  readonly retryAfterSeconds: number | undefined;
}

export interface ApiPeer {
  readonly url: string;
  /** Begins a sentence: `The controller`. */
  readonly name: string;
  /** The error when no answer of the peer's own came: none at all, or 429 or 5xx of something in between. */
  readonly unreachable: ProblemCode;
  /** The error when the answer is not the peer's API. */
  readonly garbled: ProblemCode;
  /** The code of a status whose answer is no problem document: of something in between, only the status can be trusted. */
  readonly statuses?: Readonly<Record<number, ProblemCode>>;
}

/**
 * Calls of one peer. Throws OmicronError: the peer's problem, else one of the codes above with what to do. An aborted `signal`
 * throws its reason.
 */
export function problemClient(
  peer: ApiPeer,
  send: HttpCall,
  clock: Clock = realClock,
): <Answer>(call: ApiCall<Answer>) => Promise<Answered<Answer>> {
  const base = peer.url.replace(/\/+$/, '');

  return async ({ method, path, query, token, body, idempotencyKey, answer, signal, timeoutMs }) => {
    const timeout = timeoutSignal(Math.ceil(timeoutMs), clock);
    const headers = {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
    };
    const content = body === undefined ? {} : { body: JSON.stringify(body) };
    const either = signal ? AbortSignal.any([signal, timeout]) : timeout;
    const response = await send(`${base}${path}${queryOf(query)}`, { method, headers, ...content }, either).catch(
      (cause: unknown) => {
        signal?.throwIfAborted();
        if (speaksNoTls(cause)) throw noTls(peer, base, cause);
        const why = timeout.aborted
          ? `${peer.name} at ${base} did not answer within ${Math.ceil(timeoutMs / 1000)} s`
          : `${peer.name} could not be reached at ${base}`;
        throw new OmicronError(peer.unreachable, `${why}; check that it runs there.`, { cause });
      },
    );
    const retryAfterSeconds = retryAfter(response.retryAfter);
    if (response.status < 200 || response.status > 299) throw parseProblem(peer, base, response);
    try {
      return { value: answer.parse(response.text === '' ? null : JSON.parse(response.text)), retryAfterSeconds };
    } catch (cause) {
      throw new OmicronError(
        peer.garbled,
        `The answer of ${base} to ${method} ${path} was not understood; check the URL, and that both sides have the same version.`,
        { cause },
      );
    }
  };
}

/** OpenSSL was answered without TLS; `fetch` hides its error as the cause of another. */
const speaksNoTls = (error: unknown): boolean =>
  [error, error instanceof Error ? error.cause : undefined].some(
    each => each instanceof Error && 'code' in each && each.code === 'ERR_SSL_WRONG_VERSION_NUMBER',
  );

/** Repeating the call changes nothing, so that this is no outage. */
const noTls = ({ name }: ApiPeer, base: string, cause: unknown) =>
  new OmicronError(
    'not_configured',
    `${name} at ${base} answers without TLS: write ${base.replace('https:', 'http:')}, or put TLS in front of it.`,
    { cause },
  );

function queryOf(query: ApiCall<unknown>['query'] = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== undefined) for (const each of [value].flat()) search.append(name, String(each));
  const text = search.toString();
  return text === '' ? '' : `?${text}`;
}

/** Retry-After in seconds; the date form is a proxy's: <https://www.rfc-editor.org/rfc/rfc9110#field.retry-after>. */
function retryAfter(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d+$/.test(text)) return Number(text);
  const atMs = Date.parse(text);
  return Number.isNaN(atMs) ? undefined : Math.max(0, Math.ceil((atMs - Date.now()) / 1000));
}

/** Reads a problem of a newer peer too: only its code may be unknown here. */
const anyProblem = problemSchema.extend({ code: z.string() });
const isKnown = (problem: z.infer<typeof anyProblem>): problem is Problem => isApiProblem(problem.code);

/** The error that an answer outside of 2xx stands for. */
export function parseProblem(
  peer: ApiPeer,
  base: string,
  { status, text, retryAfter: header }: HttpAnswer,
): OmicronError {
  const retryAfterSeconds = retryAfter(header);
  const told = retryAfterSeconds === undefined ? {} : { retryAfterSeconds };
  const code = peer.statuses?.[status] ?? (status === 429 || status >= 500 ? peer.unreachable : peer.garbled);
  let problem: z.infer<typeof anyProblem>;
  try {
    problem = anyProblem.parse(JSON.parse(text));
  } catch (cause) {
    const detail = `${base} answered ${status} without a problem document; check that this is the URL of ${peer.name.toLowerCase()}.`;
    return new OmicronError(code, detail, { ...told, cause });
  }
  if (!isKnown(problem)) return new OmicronError(code, `${problem.code}: ${problem.detail}`, told);
  const seconds = problem.retry_after_seconds ?? retryAfterSeconds;
  return OmicronError.fromProblem(seconds === undefined ? problem : { ...problem, retry_after_seconds: seconds });
}
