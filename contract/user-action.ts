import * as z from 'zod';
import { epoch, sessionId } from './lease-key.ts';
import { liveTokenRequest } from './live.ts';
import { httpsOrigin, registrableDomain } from './policy/credential-target.ts';
import { siteKey } from './secrets.ts';

/** An agent's request to its person: a code, a CAPTCHA, a consent. */
export const USER_ACTION_SECONDS = { default: 120, max: 900 } as const;
/** One call waits for the answer for this long at most; then it is repeated. */
export const USER_ACTION_WAIT_MS_MAX = 50_000;

/** A credential of which nothing says where it may be used, and the page on which it would be filled. */
export const askedCredential = z
  .object({
    site: siteKey.describe('Site key of the credential.'),
    host: z.string().describe('Host of the page on which it would be filled.'),
    target: z.string().describe('Registrable domain, else origin, that `always` stores with the credential.'),
  })
  .meta({ id: 'AskedCredential' });
export type AskedCredential = z.infer<typeof askedCredential>;

/** The question about a credential, in words that no agent chose. */
export function credentialQuestion(site: string, origin: string): { reason: string; credential: AskedCredential } {
  const { host, hostname, port } = new URL(origin);
  const domain = registrableDomain(hostname);
  const target = domain !== null && port === '' ? domain : origin;
  return { reason: `Use the password of ${site} at ${host}?`, credential: { site, host, target } };
}

export const userActionStatus = z.enum(['pending', 'done', 'declined', 'expired']);

/** The person who answered, as the platform or the console vouches for them. */
const answeredBy = z
  .object({
    viewer: z.string().describe('Name of the person, as in the live view.'),
    identity: z
      .string()
      .describe('`id` and the `viewer_id`, which no other person has; or `name` and the name, where there was no id.'),
  })
  .meta({ id: 'AnsweredBy' });
export type AnsweredBy = z.infer<typeof answeredBy>;

export const userAction = z
  .object({
    id: z.uuid().describe('Id of the user action.'),
    session_id: sessionId,
    epoch,
    reason: z
      .string()
      .describe("Request of the agent, in its own words; a question about a credential is not the agent's."),
    credential: askedCredential
      .nullable()
      .describe(
        'Credential that the person is asked about: may it be filled there? null: an agent asks for something else.',
      ),
    status: userActionStatus.describe('`pending` until the person answers or the time is up.'),
    note: z.string().nullable().describe("The person's message to the agent; null: none."),
    created_at: z.iso.datetime().describe('Time at which the agent asked.'),
    expires_at: z.iso.datetime().describe('Time after which it cannot be answered any more.'),
    answered_at: z.iso.datetime().nullable().describe('Time of the answer; null: there is none.'),
    // Controllers of 0.1.0 leave it out.
    answered_by: answeredBy
      .nullable()
      .default(null)
      .describe('The person who answered; null: none did, or the answer names none.'),
  })
  .meta({ id: 'UserAction' });
export interface UserAction extends z.infer<typeof userAction> {}

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
export interface PendingUserActionList extends z.infer<typeof pendingUserActionList> {}

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

/** Body of an answer in the chat, whose person its host knows alone. */
export const userActionChatAnswer = z
  .strictObject({
    status: z.enum(['done', 'declined']).describe('`done`: the person did it; `declined`: they did not.'),
    note: z.string().max(2_000).optional().describe('Message to the agent; left out: none.'),
  })
  .meta({ id: 'UserActionChatAnswer' });
export type UserActionChatAnswer = z.infer<typeof userActionChatAnswer>;

/** Body of the person's answer. */
export const userActionAnswer = userActionChatAnswer
  .extend({
    always: z
      .boolean()
      .optional()
      .describe(
        'With `done`, for a question about a credential: its site is stored with it, and nobody is asked again. Left out: it may be used in this lease.',
      ),
    viewer: liveTokenRequest.shape.viewer.describe(
      'Name of the person who answers, written to the timeline; default: the user that the token is limited to.',
    ),
    viewer_id: liveTokenRequest.shape.viewer_id.describe('Id of that person, where names are not unique.'),
  })
  .meta({ id: 'UserActionAnswer' });
export type UserActionAnswer = z.infer<typeof userActionAnswer>;

/** Body of `POST /internal/runner-user-actions` (lease token). Repeating it with the same id reads its state. */
export const userActionRequest = z
  .strictObject({
    id: z.uuid().describe('Id that the runner chooses; a repeated request with it reads its state.'),
    reason: z.string().min(1).max(2_000).describe('Request to the person, in words of the agent.'),
    credential: z
      .object({
        site: siteKey.describe('Site key of the credential.'),
        origin: z
          .string()
          .max(300)
          .refine(text => httpsOrigin(text) !== null, { message: 'must be an https origin' })
          .describe('Origin of the page on which it would be filled.'),
      })
      .optional()
      .describe('Credential that the person is asked about, in words of the controller; left out: an agent asks.'),
    timeout_seconds: z.int().min(1).max(USER_ACTION_SECONDS.max).describe('Seconds in which the person may answer.'),
    wait_ms: z
      .int()
      .min(0)
      .max(USER_ACTION_WAIT_MS_MAX)
      .describe('Milliseconds that this call may wait for the answer.'),
  })
  .meta({ id: 'UserActionRequest' });
