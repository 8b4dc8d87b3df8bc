import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { StreamedEvent } from '../../contract/event-stream.ts';
import type { CheckedConnections } from '../../egress/checked-connections.ts';
import type { Clock } from '../../time/clock.ts';
import type { EventTail } from '../lease/event-tail.ts';
import type { SealedTarget, WebhookHolds, Webhooks } from '../store/webhooks.ts';
import type { WebhookMetrics } from '../webhook-metrics.ts';
import { type DeliveryParts, HOLD_SECONDS, WebhookDelivery } from './delivery.ts';
import { type Endpoint, openEndpoint, type Posted } from './endpoint.ts';
import type { WebhookSecrets } from './sealed-secret.ts';
import { webhookHeaders } from './sign.ts';

export interface WebhookDeliveriesParts {
  readonly webhooks: Webhooks;
  readonly holds: WebhookHolds;
  readonly secrets: WebhookSecrets;
  readonly connections: CheckedConnections;
  readonly eventTail: Pick<EventTail, 'pages'>;
  /** Version of this program, for `User-Agent`. */
  readonly version: string;
  readonly clock: Clock;
  readonly metrics: WebhookMetrics;
  readonly log: Logger;
}

/** Webhooks that one replica takes in a round: others take the next ones. */
const TAKEN_AT_ONCE = 4;
/** Attempts under way may end in this time when the replica stops. */
const STOP_MS = 3_000;

/** The message of an event: <https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md#payload-structure>. */
const messageOf = (event: StreamedEvent) => ({
  id: `evt_${event.id.replace('.', '_')}`, // the signed text is joined by dots
  body: JSON.stringify({ type: event.kind, timestamp: event.at, data: event }),
});

/** Deliveries of the webhooks that this replica holds: each webhook has one of its own, so that none delays another. */
export class WebhookDeliveries {
  readonly #parts: WebhookDeliveriesParts;
  readonly #running = new Map<string, { delivery: WebhookDelivery; ended: Promise<void> }>();
  readonly #stopping = new AbortController();

  constructor(parts: WebhookDeliveriesParts) {
    this.#parts = parts;
  }

  /** Takes webhooks that no one delivers, and begins. */
  async runOnce(): Promise<void> {
    const { holds, clock } = this.#parts;
    const free = (await holds.free()).filter(id => !this.#running.has(id));
    for (const id of free.slice(0, TAKEN_AT_ONCE)) {
      const holder = randomUUID();
      const heldAtMs = clock.nowMs();
      const first = await holds.hold(id, holder, true, HOLD_SECONDS);
      if (first === null || this.#stopping.signal.aborted) continue;
      let target: SealedTarget = first;
      const endpoint = openEndpoint(first.url, this.#parts.connections);
      const delivery = new WebhookDelivery(this.#deliveryParts(id), {
        id,
        holder,
        first,
        heldAtMs,
        send: async (event, signal) => (await this.#send(endpoint, id, target, messageOf(event), signal)).error,
        onRenewed(held) {
          target = held;
        },
      });
      const ended = this.#run(id, holder, delivery, endpoint);
      this.#running.set(id, { delivery, ended });
    }
  }

  /** Sends an event that is no event of a session, and resolves with what the endpoint made of it; null: there is no such webhook. */
  async test(id: string): Promise<Posted | null> {
    const target = await this.#parts.webhooks.target(id);
    if (target === null) return null;
    const endpoint = openEndpoint(target.url, this.#parts.connections);
    const body = JSON.stringify({
      type: 'webhook.test',
      timestamp: new Date().toISOString(),
      data: { webhook_id: id },
    });
    const signal = this.#stopping.signal;
    return this.#send(endpoint, id, target, { id: `test_${randomUUID()}`, body }, signal).finally(endpoint.close);
  }

  /** Resolves when nothing is being sent; other replicas go on at once. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    const running = [...this.#running.values()];
    const timer = setTimeout(() => {
      for (const { delivery } of running) delivery.stopAttempts();
    }, STOP_MS);
    await Promise.all(running.map(({ ended }) => ended));
    clearTimeout(timer);
  }

  async #run(id: string, holder: string, delivery: WebhookDelivery, endpoint: Endpoint): Promise<void> {
    const { holds, log } = this.#parts;
    try {
      await delivery.run(this.#stopping.signal);
      await holds.release(id, holder);
    } catch (err) {
      log.warn({ err, webhook_id: id }, 'webhook not released; another replica takes it when its hold has passed');
    } finally {
      endpoint.close();
      this.#running.delete(id);
    }
  }

  async #send(
    endpoint: Endpoint,
    id: string,
    { secrets }: SealedTarget,
    message: { id: string; body: string },
    signal: AbortSignal,
  ): Promise<Posted> {
    let opened: string[];
    try {
      opened = secrets.map(sealed => this.#parts.secrets.open(sealed, id));
    } catch (error) {
      return { status: null, error: error instanceof Error ? error.message : 'its secret cannot be read' };
    }
    const timestampSeconds = Math.floor(Date.now() / 1000);
    const headers = webhookHeaders(opened, { ...message, timestampSeconds });
    return endpoint.post({ ...headers, 'user-agent': `omicron-browser/${this.#parts.version}` }, message.body, signal);
  }

  #deliveryParts(id: string): DeliveryParts {
    const { holds, eventTail, clock, metrics, log } = this.#parts;
    return {
      holds,
      eventTail,
      clock,
      metrics,
      onError: err => log.warn({ err, webhook_id: id }, 'webhook delivery interrupted; it goes on from its place'),
    };
  }
}
