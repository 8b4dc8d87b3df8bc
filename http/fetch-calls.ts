import type { HttpCall } from './call.ts';

/** Calls by `fetch`, which knows Node's proxy settings. Refuses redirects: a token is for one address. */
export const fetchCalls =
  (fetch: typeof globalThis.fetch): HttpCall =>
  async (url, request, signal) => {
    const response = await fetch(url, { ...request, redirect: 'error', signal });
    return {
      status: response.status,
      retryAfter: response.headers.get('retry-after') ?? undefined,
      text: await response.text(),
    };
  };
