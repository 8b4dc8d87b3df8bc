import * as z from 'zod';
import { type EventPlace, type StreamedEvent, streamedEvent } from '../../contract/event-stream.ts';
import { type Webhook, type WebhookFailure, webhook, webhookFailure } from '../../contract/webhook.ts';
import type { Database } from '../ports/database.ts';
import { callFunction, callRows } from './call.ts';

export interface NewWebhook {
  readonly id: string;
  readonly url: string;
  readonly description: string;
  readonly kinds: readonly string[] | null;
  readonly user_id: string | null;
  readonly sealedSecret: string;
}

/** The address of a webhook and its sealed secrets, of which each signs. */
export interface SealedTarget {
  readonly url: string;
  readonly secrets: readonly string[];
}

/** A webhook that a delivery holds. */
export interface HeldWebhook extends SealedTarget {
  readonly kinds: readonly string[] | null;
  readonly userId: string | null;
  /** All events up to here are done with. */
  readonly place: EventPlace;
  /** Whether a session that waits, or a replay, is due. */
  readonly due: boolean;
}

/** The event at which a session stopped: it, and those after it, wait. */
export interface NewWait {
  readonly sessionId: string;
  readonly before: StreamedEvent;
  readonly error: string;
}

/** A session whose next attempt is due. */
export interface DueWait {
  readonly sessionId: string;
  /** Attempts of its first event. */
  readonly attempts: number;
  readonly place: EventPlace;
  readonly events: readonly WaitingEvent[];
  /** Whether there are more of them. */
  readonly more: boolean;
}

export interface WaitingEvent extends StreamedEvent {
  /** Whether it was tried for as long as events are. */
  readonly old: boolean;
}

export interface SettledWait {
  readonly sessionId: string;
  readonly place: EventPlace;
  readonly delivered: boolean;
  /** No event of the session is left. */
  readonly done: boolean;
  /** Why the next event was not delivered; null: it was not tried. */
  readonly error: string | null;
  readonly nextSeconds: number;
  readonly givenUp: readonly { readonly event: StreamedEvent; readonly attempts: number; readonly error: string }[];
}

export interface SettledReplay {
  readonly delivered: readonly StreamedEvent[];
  readonly failed: readonly { readonly event: StreamedEvent; readonly error: string }[];
}

/** Webhooks and how far each has come. Writes of a holder are refused (false) once the webhook is gone or another's. */
export interface Webhooks {
  list(): Promise<Webhook[]>;
  get(id: string): Promise<Webhook | null>;
  /** Null: there are as many as there may be. */
  add(added: NewWebhook, most: number): Promise<Webhook | null>;
  /** Null: there is no such webhook. */
  pause(id: string, paused: boolean): Promise<Webhook | null>;
  /** False: there is no such webhook. */
  rotateSecret(id: string, sealedSecret: string, bothSeconds: number): Promise<boolean>;
  remove(id: string): Promise<boolean>;
  target(id: string): Promise<SealedTarget | null>;
  failures(id: string, before: string | null, most: number): Promise<WebhookFailure[]>;
  replay(id: string, events: readonly string[] | null): Promise<number>;
}

/** The part of a delivery. */
export interface WebhookHolds {
  /** Webhooks that no one delivers. */
  free(): Promise<string[]>;
  /** Takes a free one (`first`), or holds it for longer. Null: it is not ours. */
  hold(id: string, holder: string, first: boolean, seconds: number): Promise<HeldWebhook | null>;
  release(id: string, holder: string): Promise<void>;
  waitingSessions(id: string): Promise<string[]>;
  advance(
    id: string,
    holder: string,
    to: { place: EventPlace; delivered: boolean; waits: readonly NewWait[]; waitSeconds: number },
  ): Promise<boolean>;
  dueWaits(id: string, most: number, eventsEach: number, patienceSeconds: number): Promise<DueWait[]>;
  settleWait(id: string, holder: string, settled: SettledWait): Promise<boolean>;
  replayed(id: string, most: number): Promise<StreamedEvent[]>;
  settleReplay(id: string, holder: string, settled: SettledReplay): Promise<boolean>;
}

const iso = z.string().transform(text => new Date(text).toISOString());
const viewRow = webhook.extend({
  created_at: iso,
  paused_at: iso.nullable(),
  delivered_at: iso.nullable(),
  waiting_since: iso.nullable(),
});
const eventRow = streamedEvent.extend({ tx: z.coerce.string(), id: z.coerce.string(), at: iso });
const waitingRow = eventRow.extend({ old: z.boolean() });
const failureRow = webhookFailure.extend({ ...eventRow.shape, failed_at: iso });
const targetRow = z.object({ url: z.string(), secrets: z.array(z.string()) });
const heldRow = targetRow.extend({
  kinds: z.array(z.string()).nullable(),
  user_id: z.string().nullable(),
  tx: z.coerce.bigint(),
  event_id: z.coerce.bigint(),
  due: z.boolean(),
});
const dueRow = z.object({
  session_id: z.string(),
  attempts: z.int(),
  tx: z.coerce.bigint(),
  event_id: z.coerce.bigint(),
  events: z.array(waitingRow),
  more: z.boolean(),
});

/** Its id is the place in the stream. */
const withPlace = <Row extends { tx: string; id: string }>({ tx, ...event }: Row): Omit<Row, 'tx'> => ({
  ...event,
  id: `${tx}.${event.id}`,
});
const eventId = ({ id }: Pick<StreamedEvent, 'id'>): string => id.split('.')[1] ?? '';
const transactionOf = ({ id }: Pick<StreamedEvent, 'id'>): string => id.split('.')[0] ?? '';

export const sqlWebhooks = (database: Database): Webhooks => {
  const call = (name: string, args: Readonly<Record<string, unknown>>) => callFunction(database, name, args);
  const view = (answer: unknown) => viewRow.nullable().parse(answer);
  const list = async (id: string | null) =>
    z.array(viewRow).parse(await callRows(database, 'list_webhooks', { p_webhook: id }));
  return {
    list: () => list(null),
    get: async id => (await list(id))[0] ?? null,
    add: async ({ id, url, description, kinds, user_id, sealedSecret }, most) =>
      view(
        await call('add_webhook', {
          p_webhook: id,
          p_url: url,
          p_description: description,
          p_kinds: kinds,
          p_user: user_id,
          p_secret: sealedSecret,
          p_most: most,
        }),
      ),
    pause: async (id, paused) => view(await call('pause_webhook', { p_webhook: id, p_paused: paused })),
    rotateSecret: async (id, sealed, bothSeconds) =>
      (await call('rotate_webhook_secret', { p_webhook: id, p_secret: sealed, p_both_seconds: bothSeconds })) === true,
    async remove(id) {
      return (await database.query('delete from omicron.webhooks where id = $1 returning id', [id])).length > 0;
    },
    target: async id => targetRow.nullable().parse(await call('webhook_target', { p_webhook: id })),
    async failures(id, before, most) {
      const rows = await callRows(database, 'list_webhook_failures', { p_webhook: id, p_before: before, p_most: most });
      return z.array(failureRow).parse(rows).map(withPlace);
    },
    async replay(id, events) {
      const ids = events?.map(event => eventId({ id: event })) ?? null;
      return z.int().parse(await call('replay_webhook', { p_webhook: id, p_events: ids }));
    },
  };
};

export const sqlWebhookHolds = (database: Database): WebhookHolds => {
  const call = (name: string, args: Readonly<Record<string, unknown>>) => callFunction(database, name, args);
  return {
    free: async () => z.array(z.string()).parse(await callRows(database, 'free_webhooks', {})),
    async hold(id, holder, first, seconds) {
      const args = { p_webhook: id, p_holder: holder, p_first: first, p_seconds: seconds };
      const held = heldRow.nullable().parse(await call('hold_webhook', args));
      if (held === null) return null;
      const { user_id: userId, tx, event_id, ...rest } = held;
      return { ...rest, userId, place: { tx, id: event_id } };
    },
    async release(id, holder) {
      await call('release_webhook', { p_webhook: id, p_holder: holder });
    },
    waitingSessions: async id => z.array(z.string()).parse(await call('waiting_sessions', { p_webhook: id })),
    async advance(id, holder, { place, delivered, waits, waitSeconds }) {
      const rows = waits.map(({ sessionId, before, error }) => ({
        session_id: sessionId,
        tx: transactionOf(before),
        event_id: String(BigInt(eventId(before)) - 1n), // ids are whole numbers: the place before this event
        error,
      }));
      const answer = await call('advance_webhook', {
        p_webhook: id,
        p_holder: holder,
        p_tx: String(place.tx),
        p_event: String(place.id),
        p_delivered: delivered,
        p_waits: JSON.stringify(rows),
        p_wait_seconds: waitSeconds,
      });
      return answer === true;
    },
    async dueWaits(id, most, eventsEach, patienceSeconds) {
      const rows = await callRows(database, 'due_waits', {
        p_webhook: id,
        p_most: most,
        p_events: eventsEach,
        p_patience: patienceSeconds,
      });
      return z
        .array(dueRow)
        .parse(rows)
        .map(({ session_id: sessionId, tx, event_id, events, ...rest }) => ({
          ...rest,
          sessionId,
          place: { tx, id: event_id },
          events: events.map(withPlace),
        }));
    },
    async settleWait(id, holder, { sessionId, place, delivered, done, error, nextSeconds, givenUp }) {
      const rows = givenUp.map(({ event, attempts, error }) => ({ event_id: eventId(event), attempts, error }));
      const answer = await call('settle_wait', {
        p_webhook: id,
        p_holder: holder,
        p_session: sessionId,
        p_tx: String(place.tx),
        p_event: String(place.id),
        p_delivered: delivered,
        p_done: done,
        p_error: error,
        p_next_seconds: nextSeconds,
        p_given_up: JSON.stringify(rows),
      });
      return answer === true;
    },
    async replayed(id, most) {
      const rows = await callRows(database, 'replayed_events', { p_webhook: id, p_most: most });
      return z.array(eventRow).parse(rows).map(withPlace);
    },
    async settleReplay(id, holder, { delivered, failed }) {
      const rows = failed.map(({ event, error }) => ({
        event_id: eventId(event),
        session_id: event.session_id,
        error,
      }));
      const answer = await call('settle_replay', {
        p_webhook: id,
        p_holder: holder,
        p_delivered: delivered.map(eventId),
        p_failed: JSON.stringify(rows),
      });
      return answer === true;
    },
  };
};
