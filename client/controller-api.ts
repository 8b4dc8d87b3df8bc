import { serviceKey, signServiceToken } from '../contract/tokens.ts';
import { fetchCalls } from '../http/fetch-calls.ts';
import { type Answered, type ApiCall, type ApiPeer, problemClient } from '../http/problem-client.ts';

/** Address of a controller, and the secret under which calls to it are signed. */
export interface Connection {
  /** e.g. `http://browser-session-controller.omicron-browser-system:8080`. */
  url: string;
  /** At least 32 bytes, shared with the controller. */
  serviceSecret: string;
}

export interface UserCall<Answer> extends Omit<ApiCall<Answer>, 'token' | 'timeoutMs'> {
  /** Sessions of others are not found. */
  userId?: string | undefined;
  timeoutMs?: number;
}

export type ControllerApi = <Answer>(call: UserCall<Answer>) => Promise<Answered<Answer>>;

const TIMEOUT_MS = 15_000;

export const controllerPeer = ({ url }: Connection): ApiPeer => ({
  url,
  name: 'The controller',
  unreachable: 'controller_unreachable',
  garbled: 'internal_error',
});

/** Signs what each call of a controller carries: a fresh token of 60 s (O5), limited to a user's sessions where one is named. */
export function callTokens({ serviceSecret }: Connection): (userId: string | undefined) => Promise<string> {
  const key = serviceKey(serviceSecret);
  return userId => signServiceToken(key, userId);
}

/**
 * Calls of one controller, each with a token of its own. Throws OmicronError: the controller's problem, or
 * `controller_unreachable` when no answer of its own came. An aborted `signal` throws its reason.
 */
export function controllerApi(connection: Connection, fetch: typeof globalThis.fetch): ControllerApi {
  const tokenFor = callTokens(connection);
  const call = problemClient(controllerPeer(connection), fetchCalls(fetch, mayRepeat));
  return async ({ userId, timeoutMs = TIMEOUT_MS, ...rest }) =>
    call({ ...rest, timeoutMs, token: await tokenFor(userId) });
}

/** get-or-create is the only idempotent POST. */
const mayRepeat = (url: string, method: string): boolean => method !== 'POST' || url.endsWith('/get-or-create');
