import * as z from 'zod';
import { EVENT_KINDS, type EventKind } from './event-kinds.ts';
import { sessionId } from './lease-key.ts';
import { eventSchema, userId } from './session.ts';

/** Header with which a client of server-sent events resumes: <https://html.spec.whatwg.org/multipage/server-sent-events.html#the-last-event-id-header>. */
export const LAST_EVENT_ID = 'last-event-id';

/** The place before all events that are kept. */
export const FIRST_PLACE = '0.0';

/** The form of a place: the number of a transaction, and an id within it. */
export const PLACE = /^(0|[1-9]\d{0,17})\.(0|[1-9]\d{0,17})$/;

// the names that this release writes
const KINDS = Object.keys(EVENT_KINDS) as [EventKind, ...EventKind[]];

/** A place in the order of events, which is the same on each replica. */
export interface EventPlace {
  readonly tx: bigint;
  readonly id: bigint;
}

export const comparePlaces = (a: EventPlace, b: EventPlace): number =>
  a.tx === b.tx ? Number(a.id > b.id) - Number(a.id < b.id) : a.tx > b.tx ? 1 : -1;

/** A place as a client knows it; it matches PLACE. */
export function readPlace(text: string): EventPlace {
  const [tx = '', id = ''] = text.split('.');
  return { tx: BigInt(tx), id: BigInt(id) };
}

export const eventStreamQuery = z.strictObject({
  user_id: userId.optional().describe("Events of this user's sessions alone."),
  session_id: sessionId.optional().describe('Events of this session alone.'),
  kind: z
    .preprocess(given => (typeof given === 'string' ? [given] : given), z.array(z.enum(KINDS)).min(1).max(KINDS.length))
    .optional()
    .describe('Events of this kind alone; may be repeated.'),
});
export type EventStreamQuery = z.infer<typeof eventStreamQuery>;

/** An event of the stream: its `id` is a place, with which a reader resumes. */
export const streamedEvent = z
  .object({
    ...eventSchema.shape,
    id: z.string().describe('Place of the event in the stream; the header `Last-Event-ID` resumes after it.'),
    user_id: z.string().describe('User of the session.'),
    conversation_id: z.string().describe('Conversation of the session.'),
  })
  .meta({ id: 'StreamedEvent' });
export type StreamedEvent = z.infer<typeof streamedEvent>;
