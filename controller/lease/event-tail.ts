import {
  comparePlaces,
  type EventPlace,
  type EventStreamQuery,
  readPlace,
  type StreamedEvent,
} from '../../contract/event-stream.ts';
import { type Clock, neverAborts } from '../../time/clock.ts';
import type { EventStreams, EventsAfter } from '../store/event-stream.ts';
import { Wake } from '../wake.ts';
import type { Waits } from './waits.ts';

/** A reader that finds nothing new for this long looks whether it is still wanted. */
const LOOK_MS = 20_000;
/** Between two looks at the database: for what other replicas wrote, and however much this one did. */
const POLL_MS = 250;
const REST_MS = 25;
const RETRY_MS = 1_000;
const PAGE_EVENTS = 500;
/** The end of the last place: a look from there finds no event, and answers how far the database is. */
const START: EventPlace = { tx: 0n, id: 0n };

/** Consecutive events, from one place to another. */
interface Newest {
  readonly from: EventPlace;
  readonly to: EventPlace;
  readonly events: readonly StreamedEvent[];
}

const matches = (event: StreamedEvent, { user_id, session_id, kind }: EventStreamQuery): boolean =>
  (user_id === undefined || event.user_id === user_id) &&
  (session_id === undefined || event.session_id === session_id) &&
  (kind === undefined || kind.includes(event.kind));

export interface EventTailOptions {
  readonly eventStreams: EventStreams;
  /** `sessions` is kicked when this replica has changed one. */
  readonly waits: Pick<Waits, 'sessions'>;
  readonly clock: Clock;
  /** Called when the database cannot be read; it is tried again. */
  readonly onError: (error: unknown) => void;
}

/** The newest events of all sessions: one look at the database for all who follow them, and none while no one does. */
export class EventTail {
  readonly #options: EventTailOptions;
  readonly #moved = new Wake();
  #newest: Newest | undefined;
  #readers = 0;
  #running = false;

  constructor(options: EventTailOptions) {
    this.#options = options;
  }

  /** The place after all events that there are. */
  end(): Promise<EventPlace> {
    return this.check(START);
  }

  /** Throws `invalid_request` for a place that the database has not reached. */
  async check(place: EventPlace): Promise<EventPlace> {
    return (await this.#options.eventStreams.after(place, {}, 0)).end;
  }

  /** The events of `pages`. */
  async *follow(
    from: EventPlace,
    filter: EventStreamQuery,
    signal: AbortSignal,
  ): AsyncGenerator<readonly StreamedEvent[], void> {
    for await (const { events } of this.pages(from, filter, signal)) if (events.length > 0) yield events;
  }

  /**
   * Pages of events from a place on, as they come, until the signal aborts: what matches, and the place that was reached, of what does not
   * match too. A reader that is behind reads the database itself, as fast as it takes pages: nothing is kept for it.
   */
  async *pages(from: EventPlace, filter: EventStreamQuery, signal: AbortSignal): AsyncGenerator<EventsAfter, void> {
    const { eventStreams, clock } = this.#options;
    this.#readers += 1;
    if (!this.#running) void this.#run();
    try {
      let place = from;
      while (!signal.aborted) {
        const { kicks } = this.#moved;
        const newest = this.#newest;
        if (newest === undefined || comparePlaces(place, newest.to) >= 0) {
          await this.#moved.wait(kicks, LOOK_MS, clock, signal);
          continue;
        }
        const isBehind = comparePlaces(place, newest.from) < 0;
        const passed = place;
        const { events, end } = isBehind
          ? await eventStreams.after(place, filter, PAGE_EVENTS)
          : {
              events: newest.events.filter(
                event => comparePlaces(readPlace(event.id), passed) > 0 && matches(event, filter),
              ),
              end: newest.to,
            };
        place = end;
        yield { events, end };
      }
    } finally {
      this.#readers -= 1;
    }
  }

  async #run(): Promise<void> {
    const { waits, clock, onError } = this.#options;
    this.#running = true;
    while (this.#readers > 0)
      try {
        const { kicks } = waits.sessions;
        const isFirst = this.#newest === undefined;
        const isNews = await this.#look();
        if (isFirst || isNews) this.#moved.kick();
        await clock.sleep(REST_MS, neverAborts(), true);
        if (!isNews) await waits.sessions.wait(kicks, POLL_MS - REST_MS, clock);
      } catch (error) {
        onError(error);
        await clock.sleep(RETRY_MS, neverAborts(), true);
      }
    this.#newest = undefined;
    this.#running = false;
  }

  async #begin(): Promise<Newest> {
    const place = await this.end();
    return { from: place, to: place, events: [] };
  }

  /** Whether there are events that no one has read yet. */
  async #look(): Promise<boolean> {
    const last = this.#newest ?? (await this.#begin());
    const { events, end } = await this.#options.eventStreams.after(last.to, {}, PAGE_EVENTS);
    this.#newest = events.length > 0 ? { from: last.to, to: end, events } : { ...last, to: end };
    return events.length > 0;
  }
}
