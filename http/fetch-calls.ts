import type { HttpCall } from './call.ts';

/**
 * Calls by `fetch`, which knows Node's proxy settings. Refuses redirects: a token is for one address. A call that may be repeated is
 * sent once more when the other side closed its connection without an answer, as a replica does that stops.
 */
export const fetchCalls =
  (fetch: typeof globalThis.fetch, mayRepeat: (url: string, method: string) => boolean = () => false): HttpCall =>
  async (url, request, signal) => {
    const send = () => fetch(url, { ...request, redirect: 'error', signal });
    const response = await send().catch(error => {
      if (signal.aborted || !isClosed(error) || !mayRepeat(url, request.method)) throw error;
      return send();
    });
    return {
      status: response.status,
      retryAfter: response.headers.get('retry-after') ?? undefined,
      text: await response.text(),
    };
  };

/** As undici names it; a refused connection is no such error. */
const isClosed = (error: { cause?: { code?: unknown } }): boolean =>
  error.cause?.code === 'UND_ERR_SOCKET' || error.cause?.code === 'ECONNRESET';
