import { setImmediate as nextTurn } from 'node:timers/promises';
import { type EventPlace, type EventStreamQuery, readPlace, type StreamedEvent } from '../../contract/event-stream.ts';
import { type Backoff, backoffMs } from '../../time/backoff.ts';
import type { Clock } from '../../time/clock.ts';
import { within } from '../../time/within.ts';
import type { EventTail } from '../lease/event-tail.ts';
import type { DueWait, HeldWebhook, NewWait, SettledReplay, SettledWait, WebhookHolds } from '../store/webhooks.ts';
import { Wake } from '../wake.ts';
import type { WebhookMetrics } from '../webhook-metrics.ts';

/** Sends one event to the webhook that is held; resolves with why it was not taken, or null. Never rejects. */
export type SendEvent = (event: StreamedEvent, signal: AbortSignal) => Promise<string | null>;

export interface DeliveryParts {
  readonly holds: WebhookHolds;
  readonly eventTail: Pick<EventTail, 'pages'>;
  readonly clock: Clock;
  readonly metrics: WebhookMetrics;
  /** Called when the database cannot be reached, or a step fails; it is tried again. */
  readonly onError: (error: unknown) => void;
}

/** Age of an event at which it is given up. */
const PATIENCE_SECONDS = 86_400;
/** Waits between attempts of one session: some 60 in a day. */
const ATTEMPTS: Backoff = { firstMs: 5_000, maxMs: 1_800_000, jitter: 0.2 };

/** A holder that was killed is followed after this long; far more than one attempt takes. */
export const HOLD_SECONDS = 30;
const RENEW_MS = 1_000;
/** No attempt begins, and those that run are stopped, when a hold that cannot be renewed is about to pass. */
const HOLD_MARGIN_MS = 10_000;
/** Events after which the place is written: what is sent again when a controller is killed. */
const SLICE_EVENTS = 100;
/** Sessions to whose endpoint attempts run at once. */
const SESSIONS_AT_ONCE = 16;
const WAITS_AT_ONCE = 16;
/** The place is written this often where no event matches: the next holder would look through all of them again. */
const IDLE_ADVANCE_MS = 10_000;

export interface HeldDelivery {
  readonly id: string;
  readonly holder: string;
  readonly first: HeldWebhook;
  /** Before the hold was asked for. */
  readonly heldAtMs: number;
  readonly send: SendEvent;
  /** Called with each renewal: secrets may have changed. */
  readonly onRenewed: (held: HeldWebhook) => void;
}

/**
 * Delivers the events of one webhook that this replica holds, until `stopping` aborts or the hold is lost. Sessions are independent of each
 * other, and the events of each are sent in order, one after the other. An event is done with when that is written: a
 * holder that is killed before leaves it to the next one, which sends it again.
 */
export class WebhookDelivery {
  readonly #parts: DeliveryParts;
  readonly #held: HeldDelivery;
  readonly #lost = new AbortController();
  readonly #due = new Wake();
  readonly #waiting = new Set<string>();
  #turn: Promise<unknown> = Promise.resolve();
  #place: EventPlace;

  constructor(parts: DeliveryParts, held: HeldDelivery) {
    this.#parts = parts;
    this.#held = held;
    this.#place = held.first.place;
  }

  async run(stopping: AbortSignal): Promise<void> {
    const ended = AbortSignal.any([stopping, this.#lost.signal]);
    try {
      for (const id of await this.#parts.holds.waitingSessions(this.#held.id)) this.#waiting.add(id);
      await Promise.all([this.#renew(ended), this.#followEvents(ended), this.#retry(ended)]);
    } catch (error) {
      if (!ended.aborted) this.#parts.onError(error);
    } finally {
      this.#lost.abort();
      await this.#turn.catch(() => undefined);
    }
  }

  /** Attempts under way end without a result. */
  stopAttempts(): void {
    this.#lost.abort();
  }

  async #renew(ended: AbortSignal): Promise<void> {
    const { holds, clock, onError } = this.#parts;
    const { id, holder, onRenewed } = this.#held;
    let validUntilMs = this.#held.heldAtMs + HOLD_SECONDS * 1000;
    if (this.#held.first.due) this.#due.kick();
    while (!ended.aborted) {
      await clock.sleep(RENEW_MS, ended, true).catch(() => undefined);
      if (ended.aborted) return;
      const askedAtMs = clock.nowMs();
      const answer = holds.hold(id, holder, false, HOLD_SECONDS).catch(onError);
      const held = await within(answer, HOLD_MARGIN_MS / 2);
      if (held === null) return this.#lost.abort(); // paused, deleted, or another's
      if (held !== undefined) {
        validUntilMs = askedAtMs + HOLD_SECONDS * 1000;
        onRenewed(held);
        if (held.due) this.#due.kick();
      } else if (clock.nowMs() > validUntilMs - HOLD_MARGIN_MS) return this.#lost.abort();
    }
  }

  async #followEvents(ended: AbortSignal): Promise<void> {
    const { eventTail, clock } = this.#parts;
    const { userId, kinds } = this.#held.first;
    const filter = {
      ...(userId === null ? {} : { user_id: userId }),
      ...(kinds === null ? {} : { kind: kinds as NonNullable<EventStreamQuery['kind']> }), // the API takes no others
    };
    let writtenAtMs = clock.nowMs();
    for await (const { events, end } of eventTail.pages(this.#place, filter, ended)) {
      if (events.length === 0 && clock.nowMs() < writtenAtMs + IDLE_ADVANCE_MS) continue;
      writtenAtMs = clock.nowMs();
      if (events.length === 0) await this.#inTurn(() => this.#deliver([], end));
      for (let from = 0; from < events.length && !ended.aborted; from += SLICE_EVENTS) {
        const slice = events.slice(from, from + SLICE_EVENTS);
        const isLast = from + SLICE_EVENTS >= events.length;
        const place = isLast ? end : placeOf(slice.at(-1), end);
        await this.#inTurn(() => this.#deliver(slice, place));
      }
    }
  }

  /** One attempt of each event whose session does not wait; then all up to `end` are done with. */
  async #deliver(events: readonly StreamedEvent[], end: EventPlace): Promise<void> {
    const bySession = Map.groupBy(
      events.filter(event => !this.#waiting.has(event.session_id)),
      event => event.session_id,
    );
    const waits: NewWait[] = [];
    let delivered = false;
    await atOnce(SESSIONS_AT_ONCE, [...bySession], async ([sessionId, own]) => {
      for (const event of own) {
        const error = await this.#attempt(event);
        if (error !== null) return void waits.push({ sessionId, before: event, error });
        delivered = true;
      }
    });
    const { id, holder } = this.#held;
    const waitSeconds = this.#backoffSeconds(0);
    const to = { place: end, delivered, waits, waitSeconds };
    if (!(await this.#parts.holds.advance(id, holder, to))) return this.#lost.abort();
    this.#place = end;
    for (const { sessionId } of waits) this.#waiting.add(sessionId);
  }

  /** Sessions that wait, and replays, when they are due. */
  async #retry(ended: AbortSignal): Promise<void> {
    const { holds, clock } = this.#parts;
    const { id } = this.#held;
    let seen = this.#due.kicks;
    while (!ended.aborted) {
      const isDue = await this.#inTurn(async () => {
        const due = await holds.dueWaits(id, WAITS_AT_ONCE, SLICE_EVENTS, PATIENCE_SECONDS);
        await Promise.all(due.map(wait => this.#retryWait(wait)));
        const replayed = await holds.replayed(id, SLICE_EVENTS);
        if (replayed.length > 0) await this.#replay(replayed);
        return due.length + replayed.length > 0;
      });
      if (isDue) continue;
      await this.#due.wait(seen, 3_600_000, clock, ended);
      seen = this.#due.kicks;
    }
  }

  async #retryWait({ sessionId, attempts, place, events, more }: DueWait): Promise<void> {
    const { holds } = this.#parts;
    const { id, holder } = this.#held;
    const givenUp: SettledWait['givenUp'][number][] = [];
    let reached = place;
    let delivered = false;
    let error: string | null = null;
    let tries = attempts;
    for (const event of events) {
      const why = await this.#attempt(event);
      if (why !== null && !event.old) {
        error = why;
        break;
      }
      if (why === null) delivered = true;
      else givenUp.push({ event, attempts: tries + 1, error: why });
      reached = readPlace(event.id);
      tries = 0;
    }
    const done = error === null && !more;
    const nextSeconds = error === null ? 0 : this.#backoffSeconds(tries);
    const settled = { sessionId, place: reached, delivered, done, error, nextSeconds, givenUp };
    if (!(await holds.settleWait(id, holder, settled))) return this.#lost.abort();
    this.#parts.metrics.webhookGaveUp(givenUp.length);
    if (done) this.#waiting.delete(sessionId);
  }

  /** One attempt each; after one that fails the later ones of its session stay in the list. */
  async #replay(events: readonly StreamedEvent[]): Promise<void> {
    const delivered: StreamedEvent[] = [];
    const failed: SettledReplay['failed'][number][] = [];
    const bySession = Map.groupBy(events, event => event.session_id);
    await atOnce(SESSIONS_AT_ONCE, [...bySession.values()], async own => {
      for (const event of own) {
        const error = await this.#attempt(event);
        if (error !== null) return void failed.push({ event, error });
        delivered.push(event);
      }
    });
    const { id, holder } = this.#held;
    if (!(await this.#parts.holds.settleReplay(id, holder, { delivered, failed }))) this.#lost.abort();
  }

  /** Throws once the hold is lost: nothing is known of the attempt then. */
  async #attempt(event: StreamedEvent): Promise<string | null> {
    this.#lost.signal.throwIfAborted();
    const error = await this.#held.send(event, this.#lost.signal);
    this.#lost.signal.throwIfAborted();
    this.#parts.metrics.webhookAttempted(error === null ? 'delivered' : 'failed');
    return error;
  }

  #backoffSeconds(attempts: number): number {
    return backoffMs(attempts, ATTEMPTS, () => this.#parts.clock.random()) / 1000;
  }

  /** New events and those that wait take turns: a session is never in both. */
  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#turn.catch(() => undefined).then(work);
    this.#turn = mine;
    const result = await mine;
    await nextTurn();
    return result;
  }
}

const placeOf = (event: StreamedEvent | undefined, otherwise: EventPlace): EventPlace =>
  event === undefined ? otherwise : readPlace(event.id);

/** Works on all items, `most` at once; rejects with the first failure once those under way have ended. */
async function atOnce<Item>(most: number, items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async () => {
    for (let item = items[next++]; item !== undefined; item = items[next++]) await work(item);
  };
  const ends = await Promise.allSettled(Array.from({ length: Math.min(most, items.length) }, worker));
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
}
