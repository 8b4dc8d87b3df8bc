import { AUDIENCES } from '../../contract/names.ts';
import { OmicronError } from '../../contract/problem.ts';
import { type Actor, signServiceToken } from '../../contract/tokens.ts';
import { traceHeaders } from '../../process/tracing.ts';
import type { SignedInPerson } from './sign-ins.ts';

/** Needed by the console's server to reach its controller. */
export interface ControllerAccess {
  /** e.g. `http://127.0.0.1:8080`. */
  readonly controllerUrl: string;
  /** Signs each call; it stays in this process. */
  readonly serviceKey: Uint8Array;
}

export interface ControllerCall {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** The person for whom it is; their `userId` limits the call to that user. */
  readonly person: Pick<SignedInPerson, 'id' | 'name' | 'userId'>;
}

const actorOf = ({ id, name }: ControllerCall['person']): Actor => ({ sub: id, name, via: 'console' });

/** Until the answer begins: a video takes as long as it is watched. */
const TIMEOUT_MS = 15_000;

/** The controller's answer, a refusal too, to a call with a service token of its own. Throws `controller_unreachable`. */
export async function askController(
  { controllerUrl, serviceKey }: ControllerAccess,
  { method, path, body, headers, person }: ControllerCall,
): Promise<Response> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), TIMEOUT_MS);
  return fetch(`${controllerUrl}${path}`, {
    method,
    headers: {
      ...headers,
      ...traceHeaders(),
      authorization: `Bearer ${await signServiceToken(serviceKey, person.userId ?? undefined, AUDIENCES.controller, actorOf(person))}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    redirect: 'error',
    signal: late.signal,
  })
    .catch(cause => {
      throw new OmicronError('controller_unreachable', 'The controller does not answer; is it running?', { cause });
    })
    .finally(() => clearTimeout(timer));
}
