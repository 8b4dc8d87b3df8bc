import * as z from 'zod';
import { authorizeAnswer, EGRESS_ROUTES, watchAnswer } from '../contract/egress.ts';
import { AUDIENCES } from '../contract/names.ts';
import { signServiceToken } from '../contract/tokens.ts';
import { httpCalls } from '../http/call.ts';
import { problemClient } from '../http/problem-client.ts';
import type { PolicySource } from './policy-source.ts';

/** How long the controller may take, beyond the wait that was asked for. */
const ANSWER_MS = 3000;
/** Answers are small; a grant has at most three layers of patterns. */
const ANSWER_BYTES_MAX = 8 * 1024 * 1024;

/** The controller, over HTTP. */
export function controllerPolicies(options: { url: string; key: Uint8Array }): PolicySource {
  const call = problemClient(
    { url: options.url, name: 'The controller', unreachable: 'controller_unreachable', garbled: 'internal_error' },
    httpCalls({ bytesMax: ANSWER_BYTES_MAX }),
  );
  const post = async <T>(path: string, body: unknown, answer: z.ZodType<T>, signal: AbortSignal, waitMs = 0) => {
    const token = await signServiceToken(options.key, undefined, AUDIENCES.egress);
    const { value } = await call({ method: 'POST', path, token, body, answer, signal, timeoutMs: waitMs + ANSWER_MS });
    return value;
  };
  return {
    async lookup(runnerId, credential, signal) {
      const answer = await post(EGRESS_ROUTES.authorize, { runner_id: runnerId, credential }, authorizeAnswer, signal);
      return answer.state === 'granted' ? answer.grant : 'refused';
    },
    watch: (request, signal) => post(EGRESS_ROUTES.watch, request, watchAnswer, signal, request.wait_ms),
    async report(events, signal) {
      await post(EGRESS_ROUTES.events, { events }, z.unknown(), signal);
    },
  };
}
