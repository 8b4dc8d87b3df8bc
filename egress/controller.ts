import type * as z from 'zod';
import { authorizeAnswer, EGRESS_ROUTES, watchAnswer } from '../contract/egress.ts';
import { AUDIENCES } from '../contract/names.ts';
import { signServiceToken } from '../contract/tokens.ts';
import type { PolicySource } from './policy-source.ts';

/** How long the controller may take, beyond the wait that was asked for. */
const ANSWER_MS = 3000;
/** Answers are small; a grant has at most three layers of patterns. */
const ANSWER_BYTES_MAX = 8 * 1024 * 1024;

/** The controller, over HTTP. */
export function controllerPolicies(options: { url: string; key: Uint8Array }): PolicySource {
  const call = async (path: string, body: unknown, waitMs: number, signal: AbortSignal): Promise<Response> => {
    const response = await fetch(new URL(path, options.url), {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${await signServiceToken(options.key, undefined, AUDIENCES.egress)}`,
      },
      body: JSON.stringify(body),
      redirect: 'error',
      signal: AbortSignal.any([signal, AbortSignal.timeout(waitMs + ANSWER_MS)]),
    });
    if (response.ok) return response;
    await response.body?.cancel();
    throw new Error(`the controller answered ${path} with ${response.status}`);
  };
  const parsed = async <T extends z.ZodType>(response: Response, schema: T): Promise<z.output<T>> => {
    const text = await response.text();
    if (text.length > ANSWER_BYTES_MAX) throw new Error('the controller sent too long an answer');
    return schema.parse(JSON.parse(text));
  };

  return {
    async lookup(runnerId, credential, signal) {
      const response = await call(EGRESS_ROUTES.authorize, { runner_id: runnerId, credential }, 0, signal);
      const answer = await parsed(response, authorizeAnswer);
      return answer.state === 'granted' ? answer.grant : 'refused';
    },
    async watch(request, signal) {
      return parsed(await call(EGRESS_ROUTES.watch, request, request.wait_ms, signal), watchAnswer);
    },
    async report(events, signal) {
      const response = await call(EGRESS_ROUTES.events, { events }, 0, signal);
      await response.body?.cancel();
    },
  };
}
