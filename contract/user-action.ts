import * as z from 'zod';
import { epoch } from './lease-key.ts';

/** An agent's request to its person: a code, a CAPTCHA, a consent. */
export const USER_ACTION_SECONDS = { default: 120, max: 900 } as const;

export const userActionStatus = z.enum(['pending', 'done', 'declined', 'expired']);

export const userAction = z
  .object({
    id: z.uuid(),
    session_id: z.uuid(),
    epoch,
    reason: z.string(),
    status: userActionStatus,
    /** The person's message to the agent. */
    note: z.string().nullable(),
    created_at: z.iso.datetime(),
    expires_at: z.iso.datetime(),
    answered_at: z.iso.datetime().nullable(),
  })
  .meta({ id: 'UserAction' });
export type UserAction = z.infer<typeof userAction>;

export const userActionList = z.object({ user_actions: z.array(userAction) }).meta({ id: 'UserActionList' });

const pendingUserAction = userAction
  .extend({ user_id: z.string(), conversation_id: z.string() })
  .meta({ id: 'PendingUserAction' });

/** Pending user actions of several sessions, each with whose it is. */
export const pendingUserActionList = z
  .object({ user_actions: z.array(pendingUserAction) })
  .meta({ id: 'PendingUserActionList' });
export type PendingUserActionList = z.infer<typeof pendingUserActionList>;

/** The answer to the runner that asked. */
export const askedUserAction = userAction
  .extend({
    /** Address at which the person answers, under a login of their own. Absent: the deployment names no console. */
    url: z.url().optional(),
  })
  .meta({ id: 'AskedUserAction' });
export type AskedUserAction = z.infer<typeof askedUserAction>;

/** Body of the person's answer. */
export const userActionAnswer = z
  .strictObject({ status: z.enum(['done', 'declined']), note: z.string().max(2_000).optional() })
  .meta({ id: 'UserActionAnswer' });
export type UserActionAnswer = z.infer<typeof userActionAnswer>;

/** Body of `POST /internal/runner-user-actions` (lease token). Repeating it with the same id reads its state. */
export const userActionRequest = z
  .strictObject({
    id: z.uuid(),
    reason: z.string().min(1).max(2_000),
    timeout_seconds: z.int().min(1).max(USER_ACTION_SECONDS.max),
    /** How long this call may wait for the answer. */
    wait_ms: z.int().min(0).max(20_000),
  })
  .meta({ id: 'UserActionRequest' });
