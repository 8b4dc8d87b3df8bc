import { randomUUID } from 'node:crypto';
import type { CallToolResult } from '@modelcontextprotocol/server';
import * as z from 'zod';
import { USER_ACTION_SECONDS, USER_ACTION_WAIT_MS_MAX } from '../../contract/user-action.ts';
import { RETRY, waitBackoff } from '../../time/backoff.ts';
import { worthRetrying } from '../reporting/controller-client.ts';
import { failureResult } from '../results/result.ts';
import { besideForm } from './custom-form.ts';
import { defineTool } from './define-tool.ts';

const POLL_MS_MIN = 250;
/**
 * Clients of TypeScript give a call 60 seconds unless set: a person who takes longer is waited for by the next call. The controller waits as
 * long: a question that is asked again costs more than one that waits.
 */
const ANSWER_MS = USER_ACTION_WAIT_MS_MAX;
/** The controller's clock decides; this is for a controller that does not answer. */
const MARGIN_SECONDS = 15;

/**
 * A10: waits for the answer, beside the calls of other tools. A call with the reason and time-out of one that ended without it goes on.
 * A client that opens addresses is first sent to the console, where the person answers.
 */
export const requestUserAction = defineTool({
  name: 'browser_request_user_action',
  seconds: USER_ACTION_SECONDS.max + MARGIN_SECONDS,
  effect: 'moves',
  whileTainted: 'exempt',
  shorter: null,
  custom: besideForm({
    sets: ['playwright', 'core', 'compat', 'both'],
    title: 'Ask a person',
    description: 'Ask a person for what only they can do (CAPTCHA, code, consent), and wait',
    input: {
      reason: z.string().trim().min(1).max(2_000),
      timeout: z
        .int()
        .min(1)
        .max(USER_ACTION_SECONDS.max)
        .default(USER_ACTION_SECONDS.default)
        .describe(`Seconds, at most ${USER_ACTION_SECONDS.max}`),
    },
    output: { status: z.string().optional(), reason: z.string().optional(), note: z.string().optional() },
    async run({ reason, timeout }, { lease, signal: cancelled, clock, elicitation }) {
      const { openActions } = lease;
      // The person sees one request, however many calls wait for it.
      const key = JSON.stringify([reason, timeout]);
      const known = elicitation?.earlier?.id ?? openActions.get(key);
      if (elicitation?.earlier?.declined) {
        openActions.delete(key);
        return answer('declined', null);
      }
      const id = known ?? randomUUID();
      openActions.set(key, id);
      let asksClient = elicitation !== undefined && known === undefined;
      const limitMs = (timeout + MARGIN_SECONDS) * 1_000;
      const startMs = clock.nowMs();
      const deadlineMs = startMs + limitMs;
      const signal = AbortSignal.any([cancelled, AbortSignal.timeout(limitMs)]);
      for (let failures = 0; !signal.aborted && clock.nowMs() < deadlineMs; ) {
        try {
          const leftMs = Math.max(0, startMs + ANSWER_MS - clock.nowMs());
          const wait_ms = asksClient ? 0 : Math.round(leftMs);
          const action = await lease.askUser({ id, reason, timeout_seconds: timeout, wait_ms }, signal);
          failures = 0;
          if (action.status !== 'pending') {
            openActions.delete(key);
            return answer(action.status, action.note);
          }
          if (asksClient && action.url !== undefined) {
            elicitation?.ask(id, `The browser needs you: ${await lease.conceal(reason)}`, action.url);
            return answer('pending', null);
          }
          asksClient = false;
          if (clock.nowMs() >= startMs + ANSWER_MS) {
            if (elicitation?.earlier !== undefined) elicitation.again(id);
            return answer('pending', null);
          }
          // A controller that is about to stop does not wait.
          await clock.sleep(POLL_MS_MIN, signal).catch(() => undefined);
        } catch (error) {
          if (!signal.aborted && !worthRetrying(error))
            return failureResult('user_action_failed', error instanceof Error ? error.message : 'The request failed.');
          await waitBackoff(failures, { ...RETRY, maxMs: 2_000 }, signal, clock).catch(() => undefined);
          failures += 1;
        }
      }
      return cancelled.aborted
        ? failureResult('call_cancelled', 'The call was cancelled.')
        : failureResult(
            'user_action_failed',
            'The controller could not be reached in time; the request has no answer.',
          );
    },
  }),
});

const SENTENCES = {
  done: 'The person has done it. Look at the page again.',
  declined: 'The person declined.',
  expired: 'The person did not answer in time.',
  pending: 'The person has not answered yet. Call again with the same reason and timeout to go on waiting.',
} as const;

function answer(status: keyof typeof SENTENCES, note: string | null): CallToolResult {
  const success = status === 'done';
  const text = JSON.stringify({ success, status, reason: SENTENCES[status], ...(note !== null && { note }) });
  return { content: [{ type: 'text', text }], ...(success || status === 'pending' ? {} : { isError: true }) };
}
