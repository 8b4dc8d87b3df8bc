import * as z from 'zod';
import {
  type EventPlace,
  type EventStreamQuery,
  type StreamedEvent,
  streamedEvent,
} from '../../contract/event-stream.ts';
import { OmicronError } from '../../contract/problem.ts';
import type { Database } from '../ports/database.ts';
import { callFunction } from './call.ts';

export interface EventsAfter {
  readonly events: readonly StreamedEvent[];
  /** The place at which the page ends, of events that do not match too. */
  readonly end: EventPlace;
}

/** Events of all sessions, in the order of their transactions. */
export interface EventStreams {
  /**
   * At most `most` events after a place. No event before the end of the page will ever be added. Throws `invalid_request` for a place
   * that this database has not reached.
   */
  after(place: EventPlace, filter: EventStreamQuery, most: number): Promise<EventsAfter>;
  /** Called before the first event of a controller: a database may have been restored from a dump. */
  resume(): Promise<void>;
}

const row = streamedEvent.extend({
  tx: z.coerce.string(),
  id: z.coerce.string(),
  at: z.string().transform(text => new Date(text).toISOString()),
});
const page = z.discriminatedUnion('ahead', [
  z.object({ ahead: z.literal(true) }),
  z.object({ ahead: z.literal(false), events: z.array(row), tx: z.string(), id: z.string() }),
]);

export const sqlEventStreams = (database: Database): EventStreams => ({
  async after(place, { user_id, session_id, kind }, most) {
    const found = page.parse(
      await callFunction(database, 'events_after', {
        p_tx: String(place.tx),
        p_id: String(place.id),
        p_user: user_id ?? null,
        p_session: session_id ?? null,
        p_kinds: kind ?? null,
        p_most: most,
      }),
    );
    if (found.ahead)
      throw new OmicronError(
        'invalid_request',
        'The Last-Event-ID is ahead of this database, which was restored from a backup: begin without it, and read what came before from the timelines.',
      );
    const { events, tx, id } = found;
    return {
      events: events.map(({ tx, ...event }) => ({ ...event, id: `${tx}.${event.id}` })),
      end: { tx: BigInt(tx), id: BigInt(id) },
    };
  },
  async resume() {
    await callFunction(database, 'resume_event_clock', {});
  },
});
