import { randomUUID } from 'node:crypto';
import type { RUNNER_EVENT_KINDS } from '../../contract/reports.ts';
import type { SpanIds } from '../../process/span.ts';
import { outsideSpans } from '../../process/tracing.ts';
import { alarm } from '../../time/alarm.ts';
import { RETRY, waitBackoff } from '../../time/backoff.ts';
import type { Clock } from '../../time/clock.ts';
import { type ControllerClient, worthRetrying } from './controller-client.ts';
import type { JsonValue } from './redact.ts';

type Kind = (typeof RUNNER_EVENT_KINDS)[number];

interface Pending {
  readonly id: string;
  readonly kind: Kind;
  readonly atMs: number;
  readonly data: Record<string, JsonValue>;
}

export interface EventQueue {
  /** `data` is already redacted. */
  add(kind: Kind, data: Record<string, JsonValue>): void;
  /** How long the first page of the lease took; goes with the next events. */
  addFirstPage(ms: number): void;
  /** Sends what waits, trying until the signal aborts. Never rejects. */
  flush(signal: AbortSignal): Promise<void>;
}

export interface EventQueueOptions {
  readonly controller: ControllerClient;
  /** The lease's tokens, in the order in which they are tried: the last one outlives the lease. */
  readonly tokens: readonly string[];
  /** Place in a trace of an event that says none itself. */
  readonly placeOf: () => SpanIds | undefined;
  readonly clock: Clock;
  readonly warn: (message: string, details: Record<string, unknown>) => void;
}

/** A controller that cannot be reached for long costs the oldest events, not the runner's memory. */
const QUEUE_LENGTH_MAX = 1_000;
const BATCH_LENGTH_MAX = 100;
/** Events of one moment travel together. */
const GATHER_MS = 200;
/** While the controller cannot be reached, a batch is tried this long before the next one gathers. */
const TRY_MS = 30_000;

/** The timeline's entries on their way to the controller: bounded, batched, retried. */
export function eventQueue({ controller, tokens, placeOf, clock, warn }: EventQueueOptions): EventQueue {
  const waiting: Pending[] = [];
  let firstPageMs: number | undefined;
  let dropped = 0;
  let sending: Promise<void> | undefined;
  let scheduled = false;
  const gathered = alarm(clock, () => {
    scheduled = false;
    void outsideSpans(() => send(AbortSignal.timeout(TRY_MS)));
  });

  async function sendBatch(signal: AbortSignal): Promise<void> {
    const batch = waiting.slice(0, BATCH_LENGTH_MAX);
    const pageMs = firstPageMs;
    for (let n = 0; !signal.aborted; n += 1) {
      const now = clock.nowMs();
      const events = batch.map(({ id, kind, atMs, data }) => ({ id, kind, age_ms: Math.max(0, now - atMs), data }));
      const error = await sendWithAnyToken(token => controller.events(token, events, pageMs, signal));
      if (error === undefined) break;
      if (signal.aborted) return;
      if (!worthRetrying(error)) {
        warn('events refused; dropping them', { events: batch.length, error });
        break;
      }
      if (n === 0) warn('events not sent; retrying', { waiting: waiting.length, error });
      await waitBackoff(n, RETRY, signal, clock).catch(() => undefined);
      if (signal.aborted) return;
    }
    if (signal.aborted) return;
    for (const sent of batch) remove(sent);
    if (pageMs !== undefined) firstPageMs = undefined;
  }

  const remove = (event: Pending) => {
    const index = waiting.indexOf(event);
    if (index >= 0) waiting.splice(index, 1);
  };

  async function sendWithAnyToken(send: (token: string) => Promise<void>): Promise<unknown> {
    let last: unknown;
    for (const token of tokens) {
      try {
        await send(token);
        return undefined;
      } catch (error) {
        last = error;
        if (worthRetrying(error)) return error;
      }
    }
    return last;
  }

  async function sendAll(signal: AbortSignal): Promise<void> {
    while (waiting.length > 0 && !signal.aborted) await sendBatch(signal);
  }

  const send = (signal: AbortSignal): Promise<void> => {
    sending ??= sendAll(signal).finally(() => {
      sending = undefined;
      if (waiting.length > 0) schedule();
    });
    return sending;
  };

  const schedule = () => {
    if (scheduled) return;
    scheduled = true;
    gathered.setAt(clock.nowMs() + GATHER_MS);
  };

  const unschedule = () => {
    scheduled = false;
    gathered.clear();
  };

  return {
    add(kind, data) {
      waiting.push({ id: randomUUID(), kind, atMs: clock.nowMs(), data: { ...placeOf(), ...data } });
      if (waiting.length > QUEUE_LENGTH_MAX) {
        waiting.shift();
        dropped += 1;
        if (dropped === 1 || dropped % QUEUE_LENGTH_MAX === 0)
          warn('event queue full; dropping the oldest', { dropped });
      }
      schedule();
    },
    addFirstPage(ms) {
      firstPageMs = ms;
    },
    async flush(signal) {
      unschedule();
      const { promise: aborted, resolve } = Promise.withResolvers<void>();
      signal.addEventListener('abort', () => resolve(), { once: true });
      // A send under way may be older than some events; once it ended, the rest goes.
      while (waiting.length > 0 && !signal.aborted) await Promise.race([send(signal), aborted]);
      unschedule();
    },
  };
}
