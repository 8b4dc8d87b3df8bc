import type { Problem } from '../../contract/problem.ts';

/** The problem that a call was answered with. */
export class Refused extends Error {
  readonly status: number;
  readonly errors: Problem['errors'];

  constructor(status: number, problem: Partial<Problem>) {
    super(problem.detail ?? 'The console does not answer. Check that the stack is running.');
    this.status = status;
    this.errors = problem.errors;
  }
}

/** Is notified when a call is answered with 401: the sign-in is over. */
export const signedOut = new EventTarget();

/** Calls the console's server. Throws `Refused`, or the signal's reason. */
export async function callConsole<Answer>(
  method: 'GET' | 'POST' | 'PUT' | 'DELETE',
  path: string,
  body?: unknown,
  signal?: AbortSignal,
): Promise<Answer> {
  let response: Response;
  try {
    response = await fetch(`/api${path}`, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
      ...(signal ? { signal } : {}),
    });
  } catch (error) {
    signal?.throwIfAborted();
    throw error instanceof TypeError ? new Refused(0, {}) : error;
  }
  const text = await response.text();
  if (response.ok) return (text === '' ? null : JSON.parse(text)) as Answer; // the contract's type of this route
  if (response.status === 401) signedOut.dispatchEvent(new Event('signed-out'));
  throw new Refused(response.status, response.headers.get('content-type')?.includes('json') ? JSON.parse(text) : {});
}

/** A path with its parts percent-encoded. */
export const encodePath = (strings: TemplateStringsArray, ...parts: string[]): string =>
  strings.reduce((whole, text, at) => `${whole}${encodeURIComponent(parts[at - 1] ?? '')}${text}`);
