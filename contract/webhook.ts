import * as z from 'zod';
import { EVENT_KINDS, type EventKind } from './event-kinds.ts';
import { streamedEvent } from './event-stream.ts';
import { LIMITS, userId } from './session.ts';

export const WEBHOOK_LIMITS = {
  /** Webhooks of a deployment. */
  webhooksMax: 100,
  urlCharactersMax: 2_000,
  replayedMax: 1_000,
} as const;

const KINDS = Object.keys(EVENT_KINDS) as [EventKind, ...EventKind[]]; // the names that this release writes

const choice = {
  kinds: z
    .array(z.enum(KINDS))
    .min(1)
    .max(KINDS.length)
    .nullable()
    .default(null)
    .describe('Kinds of the events that are sent; null: all.'),
  user_id: userId.nullable().default(null).describe('User of whose sessions events are sent; null: all users.'),
  description: z.string().max(200).default('').describe('Text for people.'),
};

/** Body of `POST /internal/webhooks`. Its address is judged by the controller, which can say why it is refused. */
export const webhookRequest = z.strictObject({
  url: z
    .string()
    .min(1)
    .max(WEBHOOK_LIMITS.urlCharactersMax)
    .describe('Address that events are sent to: https, and public unless the deployment has opened its range.'),
  ...choice,
});
export type WebhookRequest = z.infer<typeof webhookRequest>;

const id = z.uuid().describe('Id of the webhook.');
const time = z.iso.datetime();

export const webhook = z
  .object({
    id,
    url: z.string().describe('Address that events are sent to.'),
    // as they are stored: another release may know other kinds
    kinds: z.array(z.string()).nullable().describe('Kinds of the events that are sent; null: all.'),
    user_id: z.string().nullable().describe('User of whose sessions events are sent; null: all users.'),
    description: z.string().describe('Text for people.'),
    created_at: time.describe('Time at which it was added; events from then on are sent.'),
    paused_at: time.nullable().describe('Time at which it was paused; null: events are sent.'),
    delivered_at: time.nullable().describe('Time of the last event that was delivered; null: none was.'),
    waiting_sessions: z.int().describe('Sessions whose events wait for another attempt.'),
    waiting_since: time.nullable().describe('Time since which the first of them waits; null: none waits.'),
    last_error: z.string().nullable().describe('Why the last attempt for a waiting session failed; null: none waits.'),
    failed: z.int().describe('Events that were given up, as `failures` lists them.'),
  })
  .meta({ id: 'Webhook' });
export type Webhook = z.infer<typeof webhook>;

const secret = z
  .string()
  .describe(
    'Secret that signs deliveries, `whsec_` and base64, as libraries of Standard Webhooks take it. Shown once.',
  );

export const webhookAdded = webhook.extend({ secret }).meta({ id: 'AddedWebhook' });
export type WebhookAdded = z.infer<typeof webhookAdded>;

export const webhookList = z.object({
  webhooks: z
    .array(webhook)
    .describe(`Webhooks of the deployment, oldest first; at most ${WEBHOOK_LIMITS.webhooksMax}.`),
});

export const webhookSecret = z
  .object({
    secret,
    both_until: time.describe('Time until which deliveries are signed with the secret before as well.'),
  })
  .meta({ id: 'WebhookSecret' });
export type WebhookSecret = z.infer<typeof webhookSecret>;

export const webhookTest = z
  .object({
    delivered: z.boolean().describe('Whether the endpoint took the event: it answered with a status from 200 to 299.'),
    status: z.int().nullable().describe('Status of its answer; null: there was none.'),
    error: z.string().nullable().describe('Why the event was not delivered; null: it was.'),
    duration_ms: z.int().describe('Milliseconds of the attempt.'),
  })
  .meta({ id: 'WebhookTest' });
export type WebhookTest = z.infer<typeof webhookTest>;

export const webhookFailure = z
  .object({
    ...streamedEvent.shape,
    attempts: z.int().describe('Attempts to deliver the event.'),
    error: z.string().describe('Why the last one failed.'),
    failed_at: time.describe('Time of the last attempt.'),
    replaying: z.boolean().describe('Whether another attempt was asked for, and has not ended.'),
  })
  .meta({ id: 'WebhookFailure' });
export type WebhookFailure = z.infer<typeof webhookFailure>;

export const webhookFailureQuery = z.strictObject({
  cursor: z
    .string()
    .regex(/^[1-9]\d{0,17}$/, 'must be a next_cursor')
    .optional()
    .describe('`next_cursor` of the page before.'),
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .max(LIMITS.pageSizeMax)
    .default(LIMITS.pageSizeDefault)
    .describe('Largest number of events.'),
});

export const webhookFailurePage = z
  .object({
    failures: z.array(webhookFailure).describe('Events that were not delivered, newest first.'),
    next_cursor: z.string().nullable().describe('Where the next page begins; null: this is the last one.'),
  })
  .meta({ id: 'WebhookFailurePage' });
export type WebhookFailurePage = z.infer<typeof webhookFailurePage>;

export const webhookReplay = z.strictObject({
  events: z
    .array(z.string().regex(/^\d{1,18}\.[1-9]\d{0,17}$/, 'must be the id of an event, e.g. 7345.812'))
    .min(1)
    .max(WEBHOOK_LIMITS.replayedMax)
    .optional()
    .describe('Ids of the events, as `failures` lists them; left out: all.'),
});

export const webhookReplayed = z
  .object({ replayed: z.int().describe('Events that are sent again.') })
  .meta({ id: 'WebhookReplayed' });
