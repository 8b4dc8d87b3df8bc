import { randomUUID } from 'node:crypto';
import { DENIALS, type DenialCode, type EgressEvent } from '../contract/egress.ts';
import type { LeaseKey } from '../contract/lease-key.ts';
import type { Clock } from '../http/clock.ts';
import type { PolicySource } from './policy-source.ts';
import type { Refusal } from './refusal.ts';
import type { Target } from './target.ts';

export interface DenialReporter {
  /** Keeps a refusal for the next report when it is a denial; never waits and never throws. */
  record(lease: LeaseKey, method: EgressEvent['method'], target: Target, refusal: Refusal): void;
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

type Pending = Omit<EgressEvent, 'age_ms'> & { sinceMs: number };

/** Equal denials between two reports become one line with a count, so a page that retries cannot flood a timeline. */
export function denialReporter(options: {
  source: PolicySource;
  clock: Clock;
  onDropped: (count: number) => void;
}): DenialReporter {
  const { clock } = options;
  const pending = new Map<string, Pending>();
  const stopping = new AbortController();
  let sending: Promise<void> = Promise.resolve();

  const send = async (signal: AbortSignal): Promise<void> => {
    while (pending.size > 0) {
      const batch = [...pending.entries()].slice(0, BATCH_MAX);
      // Taken out before sending: a repeat meanwhile is a line of its own, since this line's count is in flight.
      for (const [key] of batch) pending.delete(key);
      const nowMs = clock.nowMs();
      const events = batch.map(([, { sinceMs, ...event }]) => ({ ...event, age_ms: nowMs - sinceMs }));
      try {
        await options.source.report(events, signal);
      } catch {
        let dropped = 0;
        for (const [, event] of batch) {
          if (pending.size < PENDING_MAX) pending.set(event.id, event);
          else dropped += event.count;
        }
        if (dropped > 0) options.onDropped(dropped);
        return;
      }
    }
  };
  const flush = (signal: AbortSignal): Promise<void> => {
    sending = sending.then(() => send(signal));
    return sending;
  };
  const reportLoop = async (): Promise<void> => {
    for (;;) {
      await clock.sleep(FLUSH_MS, stopping.signal, true);
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
      if (pending.size >= PENDING_MAX) return options.onDropped(1);
      const event = { ...lease, id: randomUUID(), code, method, host: target.host, port: target.port };
      pending.set(key, { ...event, address_class: addressClass, rule, layer, count: 1, sinceMs: clock.nowMs() });
    },
    flush,
    start() {
      void reportLoop().catch(error => {
        if (!stopping.signal.aborted) throw error;
      });
    },
    async stop() {
      stopping.abort();
      await flush(AbortSignal.timeout(STOP_MS));
      let left = 0;
      for (const { count } of pending.values()) left += count;
      if (left > 0) options.onDropped(left);
    },
  };
}

const isDenial = (code: string): code is DenialCode => DENIALS.some(denial => denial === code);
