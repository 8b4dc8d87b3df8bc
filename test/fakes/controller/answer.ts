import { type OmicronError, PROBLEM_TYPE } from '../../../contract/problem.ts';

export interface Answer {
  status: number;
  headers?: Record<string, string>;
  body?: string;
}

export interface Call {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly token: string;
  readonly idempotencyKey: string | undefined;
  /** Undefined when the call had none. */
  readonly body: unknown;
}

/** Undefined: the call is not one of this caller's. */
export type Route = (call: Call) => Promise<Answer | undefined>;

export const json = (status: number, body: unknown, headers: Record<string, string> = {}): Answer => ({
  status,
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify(body),
});

export function problem(error: OmicronError): Answer {
  const document = error.toProblem();
  const { retryAfterSeconds } = error;
  return json(document.status, document, {
    'content-type': PROBLEM_TYPE,
    ...(retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }),
  });
}
