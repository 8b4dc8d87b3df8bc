import { setTimeout as sleep } from 'node:timers/promises';
import { ApiException } from '@kubernetes/client-node';

const TIMEOUT_MS = 10_000;
const ATTEMPTS = 5;

/** What became of one call to the API server. `unknown`: no answer came; ask what is there before doing it again. */
export type ApiFault = 'not_found' | 'conflict' | 'gone' | 'refused' | 'busy' | 'unknown';

/** The kind of an API error, and how long the server asks to wait. */
export function apiFault(error: unknown): { fault: ApiFault; retryAfterMs: number | null } {
  if (!(error instanceof ApiException)) return { fault: 'unknown', retryAfterMs: null };
  const seconds = Number(error.headers?.['retry-after']);
  const retryAfterMs = Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : null;
  if (error.code === 404) return { fault: 'not_found', retryAfterMs };
  if (error.code === 409) return { fault: 'conflict', retryAfterMs };
  if (error.code === 410) return { fault: 'gone', retryAfterMs };
  if (error.code === 429 || error.code >= 500) return { fault: 'busy', retryAfterMs };
  return { fault: 'refused', retryAfterMs };
}

/**
 * One call to the API server with a bound. A server that is busy (429, 5xx) or does not answer is asked again, when it says
 * or with growing pauses; every call given here must therefore be harmless when repeated. Other errors are thrown at once.
 */
export async function apiCall<T>(call: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const timer = new AbortController();
    try {
      return await Promise.race([
        call(),
        sleep(TIMEOUT_MS, undefined, { signal: timer.signal }).then(() => {
          throw new Error(`the API server did not answer within ${TIMEOUT_MS / 1000} s`);
        }),
      ]);
    } catch (error) {
      const { fault, retryAfterMs } = apiFault(error);
      if ((fault !== 'busy' && fault !== 'unknown') || attempt === ATTEMPTS) throw error;
      const pauseMs = retryAfterMs ?? 200 * 2 ** attempt;
      await sleep(pauseMs * (0.75 + Math.random() / 2), undefined, signal ? { signal } : {});
    } finally {
      timer.abort();
    }
  }
}
