import * as z from 'zod';
import { epoch, sessionId } from './lease-key.ts';

/** An agent's request to its person: a code, a CAPTCHA, a consent. */
export const USER_ACTION_SECONDS = { default: 120, max: 900 } as const;

export const userActionStatus = z.enum(['pending', 'done', 'declined', 'expired']);

export const userAction = z
  .object({
    id: z.uuid().describe('Id of the user action.'),
    session_id: sessionId,
    epoch,
    reason: z.string().describe('Request of the agent, in its own words.'),
    status: userActionStatus.describe('`pending` until the person answers or the time is up.'),
    note: z.string().nullable().describe("The person's message to the agent; null: none."),
    created_at: z.iso.datetime().describe('Time at which the agent asked.'),
    expires_at: z.iso.datetime().describe('Time after which it cannot be answered any more.'),
    answered_at: z.iso.datetime().nullable().describe('Time of the answer; null: there is none.'),
  })
  .meta({ id: 'UserAction' });
export type UserAction = z.infer<typeof userAction>;

export const userActionList = z
  .object({ user_actions: z.array(userAction).describe('User actions of the session.') })
  .meta({ id: 'UserActionList' });

const pendingUserAction = userAction
  .extend({
    user_id: z.string().describe('User whose session asks.'),
    conversation_id: z.string().describe('Conversation whose session asks.'),
  })
  .meta({ id: 'PendingUserAction' });

/** Pending user actions of several sessions, each with whose it is. */
export const pendingUserActionList = z
  .object({ user_actions: z.array(pendingUserAction).describe('User actions that wait for an answer.') })
  .meta({ id: 'PendingUserActionList' });
export type PendingUserActionList = z.infer<typeof pendingUserActionList>;

/** The answer to the runner that asked. */
export const askedUserAction = userAction
  .extend({
    url: z
      .url()
      .optional()
      .describe(
        'Address at which the person answers, under a login of their own. Absent: the deployment names no console.',
      ),
  })
  .meta({ id: 'AskedUserAction' });
export type AskedUserAction = z.infer<typeof askedUserAction>;

/** Body of the person's answer. */
export const userActionAnswer = z
  .strictObject({
    status: z.enum(['done', 'declined']).describe('`done`: the person did it; `declined`: they did not.'),
    note: z.string().max(2_000).optional().describe('Message to the agent; left out: none.'),
  })
  .meta({ id: 'UserActionAnswer' });
export type UserActionAnswer = z.infer<typeof userActionAnswer>;

/** Body of `POST /internal/runner-user-actions` (lease token). Repeating it with the same id reads its state. */
export const userActionRequest = z
  .strictObject({
    id: z.uuid().describe('Id that the runner chooses; a repeated request with it reads its state.'),
    reason: z.string().min(1).max(2_000).describe('Request to the person, in words of the agent.'),
    timeout_seconds: z.int().min(1).max(USER_ACTION_SECONDS.max).describe('Seconds in which the person may answer.'),
    wait_ms: z.int().min(0).max(20_000).describe('Milliseconds that this call may wait for the answer.'),
  })
  .meta({ id: 'UserActionRequest' });
