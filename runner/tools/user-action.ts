import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { CallToolResult, Tool } from '@modelcontextprotocol/sdk/types.js';
import * as z from 'zod';
import { USER_ACTION_SECONDS, type UserAction, type userActionRequest } from '../../contract/user-action.ts';
import { RETRY, waitBackoff } from '../../http/backoff.ts';
import { worthRetrying } from '../reporting/controller-client.ts';
import { failed } from './result.ts';
import { invalid, toolOf } from './tool.ts';

const INPUT = {
  reason: z.string().trim().min(1).max(2_000).describe('Why a person is needed, e.g. "CAPTCHA" or "2FA code"'),
  timeout: z
    .int()
    .min(1)
    .max(USER_ACTION_SECONDS.max)
    .default(USER_ACTION_SECONDS.default)
    .describe('Seconds to wait for the person'),
};

/** One call waits so long at the controller; then it is asked again. */
const WAIT_MS = 20_000;
const POLL_MS_MIN = 250;
/** The controller's clock decides; this is for a controller that does not answer. */
const MARGIN_MS = 15_000;

export const userActionTool: Tool = toolOf(
  'browser_request_user_action',
  'Ask the person of this session to do something that only they can (a CAPTCHA, a code, a consent), and wait for it',
  INPUT,
);

export type AskUser = (request: z.input<typeof userActionRequest>, signal: AbortSignal) => Promise<UserAction>;

/** A10: waits for the answer without holding up anybody else's calls. Never rejects. */
export async function requestUserAction(
  args: Record<string, unknown>,
  ask: AskUser,
  cancelled: AbortSignal,
): Promise<CallToolResult> {
  const parsed = z.object(INPUT).safeParse(args);
  if (!parsed.success) return invalid(parsed.error);
  const { reason, timeout } = parsed.data;
  const id = randomUUID();
  const signal = AbortSignal.any([cancelled, AbortSignal.timeout(timeout * 1_000 + MARGIN_MS)]);
  for (let n = 0; !signal.aborted; ) {
    try {
      const action = await ask({ id, reason, timeout_seconds: timeout, wait_ms: WAIT_MS }, signal);
      n = 0;
      if (action.status !== 'pending') return answer(action);
      // A controller that is about to stop does not wait.
      await delay(POLL_MS_MIN, undefined, { signal }).catch(() => undefined);
    } catch (error) {
      if (!signal.aborted && !worthRetrying(error))
        return failed('user_action_failed', error instanceof Error ? error.message : 'The person could not be asked.');
      await waitBackoff(n, { ...RETRY, maxMs: 2_000 }, signal).catch(() => undefined);
      n += 1;
    }
  }
  return cancelled.aborted
    ? failed('cancelled', 'The call was cancelled.')
    : failed('user_action_failed', 'The controller could not be reached, so nobody was asked or answered.');
}

const SENTENCES = {
  done: 'The person has done it. Look at the page again.',
  declined: 'The person declined.',
  expired: 'Nobody answered in time.',
} as const;

function answer({ status, note }: UserAction): CallToolResult {
  if (status === 'pending') throw new Error('a pending action is no answer');
  const success = status === 'done';
  const text = JSON.stringify({ success, status, reason: SENTENCES[status], note });
  return { content: [{ type: 'text', text }], ...(success ? {} : { isError: true }) };
}
