import { ApiException, PatchStrategy, setHeaderOptions } from '@kubernetes/client-node';
import { type Backoff, waitBackoff } from '../../../time/backoff.ts';
import { type Clock, neverAborts } from '../../../time/clock.ts';
import type { ProviderContext } from '../../ports/runners.ts';

const TIMEOUT_MS = 10_000;
const ATTEMPTS = 5;
const BACKOFF: Backoff = { firstMs: 500, maxMs: 4_000, jitter: 0.4 };
/** A proxy before the API server may ask for hours: a launch would wait for them, and a controller that stops. */
const RETRY_AFTER_MS_MAX = 30_000;

export const MERGE_PATCH = setHeaderOptions('Content-Type', PatchStrategy.MergePatch);

/** Outcome of one call to the API server. `unknown`: no answer came; read what exists before doing it again. */
export type ApiFault = 'not_found' | 'conflict' | 'gone' | 'refused' | 'busy' | 'unknown';

/** The kind of an API error, and how long to wait, as far as the server asks for it. */
export function apiFault(error: unknown): { fault: ApiFault; retryAfterMs: number | null } {
  if (!(error instanceof ApiException)) return { fault: 'unknown', retryAfterMs: null };
  const seconds = Number(error.headers?.['retry-after']);
  const retryAfterMs = Number.isFinite(seconds) && seconds > 0 ? Math.min(seconds * 1000, RETRY_AFTER_MS_MAX) : null;
  if (error.code === 404) return { fault: 'not_found', retryAfterMs };
  if (error.code === 409) return { fault: 'conflict', retryAfterMs };
  if (error.code === 410) return { fault: 'gone', retryAfterMs };
  if (error.code === 429 || error.code >= 500) return { fault: 'busy', retryAfterMs };
  return { fault: 'refused', retryAfterMs };
}

/** Why the API server refused an object. */
export interface KubernetesRefusal {
  /** In the API server's own words. */
  message: string;
  /** Name of the ValidatingAdmissionPolicy that denied it; null: a quota, a schema. */
  policy: string | null;
}

/** Null: the error is no refusal. */
export function refusalOf(error: unknown): KubernetesRefusal | null {
  if (!(error instanceof ApiException) || apiFault(error).fault !== 'refused') return null;
  const text = typeof error.body === 'string' ? error.body : JSON.stringify(error.body ?? '');
  const message = /"message":\s*"((?:[^"\\]|\\.)*)"/.exec(text)?.[1] ?? 'no reason given';
  // The Status names the policy in its message alone:
  // https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/
  return { message, policy: /ValidatingAdmissionPolicy '([^']+)'/.exec(message)?.[1] ?? null };
}

const WRITE = /^(create|patch|replace|delete)Namespaced(\w+)$/;

/** The client, which calls `onWrite` for each request that changes an object, by the verb and the resource of its method. */
export function countWrites<Client extends object>(client: Client, onWrite: ProviderContext['onWrite']): Client {
  return new Proxy(client, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name);
      const [, verb, kind] = (typeof name === 'string' && WRITE.exec(name)) || [];
      if (typeof method !== 'function' || verb === undefined || kind === undefined) return method;
      return async (...given: unknown[]) => {
        let ok = false;
        try {
          const answer: unknown = await method.apply(target, given);
          ok = true;
          return answer;
        } finally {
          onWrite({ verb, resource: `${kind.toLowerCase()}s`, ok });
        }
      };
    },
  });
}

/** Makes one call to the API server, with a bound. Rejects with the signal's reason when it aborts. */
export type BoundedApiCall = <T>(call: () => Promise<T>, signal?: AbortSignal) => Promise<T>;

/**
 * Retries when the server is busy (429, 5xx) or does not answer: after its Retry-After, else with back-off. Every
 * call given here must therefore be harmless when repeated. Other errors are thrown at once.
 */
export const apiCalls =
  (clock: Clock): BoundedApiCall =>
  async (call, signal = neverAborts()) => {
    for (let attempt = 0; ; attempt++) {
      try {
        signal.throwIfAborted();
        return await callWithin(TIMEOUT_MS, call(), clock, signal);
      } catch (error) {
        signal.throwIfAborted();
        const { fault, retryAfterMs } = apiFault(error);
        if ((fault !== 'busy' && fault !== 'unknown') || attempt === ATTEMPTS - 1) throw error;
        if (retryAfterMs === null) await waitBackoff(attempt, BACKOFF, signal, clock);
        else await clock.sleep(retryAfterMs * (1 + clock.random() / 4), signal);
      }
    }
  };

async function callWithin<T>(ms: number, promise: Promise<T>, clock: Clock, signal: AbortSignal): Promise<T> {
  const timer = new AbortController();
  const late = clock.sleep(ms, AbortSignal.any([timer.signal, signal]), true).then(() => {
    throw new Error(`the API server did not answer within ${ms / 1000} s`);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    timer.abort();
  }
}
