import { randomUUID } from 'node:crypto';
import { DENIALS, type DenialCode, type EgressDenial, type EgressEvent } from '../contract/egress.ts';
import type { LeaseKey } from '../contract/lease-key.ts';
import { eventIds } from '../process/span.ts';
import { currentSpan } from '../process/tracing.ts';
import type { Clock } from '../time/clock.ts';
import { denialMinutes, MINUTE_MS } from './denial-minutes.ts';
import type { PolicySource } from './policy-source.ts';
import type { ProxyRefusal } from './refusal.ts';
import type { Destination } from './target.ts';

export interface DenialReporter {
  /** Keeps a refusal for the next report when it is a denial; never waits and never throws. */
  record(lease: LeaseKey, method: EgressDenial['method'], target: Destination, refusal: ProxyRefusal): void;
  /** Sends what is pending; what cannot be sent stays for the next report. */
  flush(signal: AbortSignal): Promise<void>;
  start(): void;
  /** Sends the rest; gives up after a second. */
  stop(): Promise<void>;
}

const PENDING_MAX = 1000;
const BATCH_MAX = 100;
const FLUSH_MS = 1000;
const STOP_MS = 1000;

type Pending<E extends EgressEvent = EgressEvent> = E extends EgressEvent
  ? Omit<E, 'age_ms'> & { sinceMs: number }
  : never;

/**
 * Equal denials between two reports become one line with a count. A lease gets `DENIALS_PER_MINUTE` lines; at the end of its minute
 * the rest becomes one line that says how many more there were.
 */
export function denialReporter(options: {
  source: PolicySource;
  clock: Clock;
  onDropped: (count: number) => void;
}): DenialReporter {
  const { clock } = options;
  const pending = new Map<string, Pending>();
  const minutes = denialMinutes();
  const stopping = new AbortController();
  let sending: Promise<void> = Promise.resolve();
  /** The last report failed. Until one succeeds no minute ends, so that an outage leaves each lease the lines of one minute. */
  let isAway = false;

  /** Writes the last line of every minute that began before `beforeMs`. */
  const endMinutes = (beforeMs: number): void => {
    for (const { key, lease, more, sinceMs } of minutes.end(beforeMs)) {
      const unsent = pending.get(`more ${key}`);
      if (unsent) unsent.count += more;
      else pending.set(`more ${key}`, { ...lease, id: randomUUID(), code: 'more_denials', count: more, sinceMs });
    }
  };
  const addMore = (lease: LeaseKey, count: number, sinceMs: number): void => {
    if (!minutes.addMore(lease, count, sinceMs, clock.nowMs())) options.onDropped(count);
  };

  const send = async (signal: AbortSignal): Promise<void> => {
    while (pending.size > 0) {
      const batch = [...pending.entries()].slice(0, BATCH_MAX);
      // Taken out before sending: a repeat meanwhile is a line of its own, since this line's count is in flight.
      for (const [key] of batch) pending.delete(key);
      const nowMs = clock.nowMs();
      const events = batch.map(([, { sinceMs, ...event }]) => ({ ...event, age_ms: nowMs - sinceMs }));
      try {
        await options.source.report(events, signal);
        isAway = false;
      } catch {
        isAway = true;
        for (const [, event] of batch) keep(event);
        return;
      }
    }
  };
  /** Keeps what could not be sent. */
  const keep = (event: Pending): void => {
    if (event.code === 'more_denials' || pending.size < PENDING_MAX) pending.set(event.id, event);
    else addMore(event, event.count, event.sinceMs);
  };
  const flush = (signal: AbortSignal): Promise<void> => {
    sending = sending.then(() => send(signal));
    return sending;
  };
  const reportLoop = async (): Promise<void> => {
    for (;;) {
      await clock.sleep(FLUSH_MS, stopping.signal, true);
      if (!isAway) endMinutes(clock.nowMs() - MINUTE_MS);
      if (pending.size > 0) void flush(new AbortController().signal);
    }
  };

  return {
    record(lease, method, target, refusal) {
      if (!isDenial(refusal.refused)) return;
      const { refused: code, rule = null, layer = null, addressClass = null } = refusal;
      const key = `${lease.runner_id} ${lease.epoch} ${method} ${code} ${target.host}:${target.port}`;
      const known = pending.get(key);
      if (known) {
        known.count += 1;
        return;
      }
      const nowMs = clock.nowMs();
      if (!isAway) endMinutes(nowMs - MINUTE_MS);
      if (pending.size >= PENDING_MAX || !minutes.addLine(lease, nowMs)) return addMore(lease, 1, nowMs);
      const span = currentSpan();
      const place = { host: target.host, port: target.port, ...(span && eventIds(span)) };
      const event = { ...lease, id: randomUUID(), code, method, ...place };
      pending.set(key, { ...event, address_class: addressClass, rule, layer, count: 1, sinceMs: nowMs });
    },
    flush,
    start() {
      void reportLoop().catch(error => {
        if (!stopping.signal.aborted) throw error;
      });
    },
    async stop() {
      stopping.abort();
      endMinutes(clock.nowMs());
      await flush(AbortSignal.timeout(STOP_MS));
      let left = 0;
      for (const { count } of pending.values()) left += count;
      if (left > 0) options.onDropped(left);
    },
  };
}

const isDenial = (code: string): code is DenialCode => DENIALS.some(denial => denial === code);
