import * as z from 'zod';
import {
  type Webhook,
  type WebhookAdded,
  type WebhookFailurePage,
  type WebhookSecret,
  type WebhookTest,
  webhook,
  webhookAdded,
  webhookFailurePage,
  webhookList,
  webhookReplayed,
  type webhookRequest,
  webhookSecret,
  webhookTest,
} from '../contract/webhook.ts';
import type { UserCall } from './controller-api.ts';
import { encodeSegment } from './encode-segment.ts';
import { type CamelCased, toSnakeCase } from './wire-names.ts';

/** The fields of a new webhook: the address is all it needs. */
export type NewWebhookRequest = CamelCased<z.input<typeof webhookRequest>>;

/** An endpoint may take as long for its answer. */
const TEST_MS = 30_000;

/**
 * Endpoints that events are sent to, in the form of Standard Webhooks. Each throws `webhook_not_found` for an id of none; a service secret
 * whose calls are limited to a user may not use them.
 */
export class WebhookCalls {
  readonly #call: <Answer>(call: UserCall<Answer>) => Promise<Answer>;

  constructor(call: <Answer>(call: UserCall<Answer>) => Promise<Answer>) {
    this.#call = call;
  }

  /** Adds an endpoint. Its `secret` is in this answer alone. Throws `invalid_request` for an address that may not be reached. */
  add(request: NewWebhookRequest): Promise<WebhookAdded> {
    return this.#call({ method: 'POST', path: WEBHOOKS, body: toSnakeCase({ ...request }), answer: webhookAdded });
  }

  /** Webhooks, oldest first, and how far each has come. */
  async list(): Promise<Webhook[]> {
    return (await this.#call({ method: 'GET', path: WEBHOOKS, answer: webhookList })).webhooks;
  }

  get(id: string): Promise<Webhook> {
    return this.#call({ method: 'GET', path: pathOf(id), answer: webhook });
  }

  /** Sends one event of the type `webhook.test`, and resolves with how the endpoint took it. */
  test(id: string): Promise<WebhookTest> {
    return this.#call({ method: 'POST', path: `${pathOf(id)}/test`, answer: webhookTest, timeoutMs: TEST_MS });
  }

  /** Stops deliveries; events wait for as long as they are kept. */
  pause(id: string): Promise<Webhook> {
    return this.#call({ method: 'POST', path: `${pathOf(id)}/pause`, answer: webhook });
  }

  /** Goes on with the event at which the webhook was paused. */
  resume(id: string): Promise<Webhook> {
    return this.#call({ method: 'POST', path: `${pathOf(id)}/resume`, answer: webhook });
  }

  /** A new secret. For a day deliveries are signed with both. */
  rotateSecret(id: string): Promise<WebhookSecret> {
    return this.#call({ method: 'POST', path: `${pathOf(id)}/rotate-secret`, answer: webhookSecret });
  }

  /** Deletes it; repeating it changes nothing. */
  async delete(id: string): Promise<void> {
    await this.#call({ method: 'DELETE', path: pathOf(id), answer: z.null() });
  }

  /** A page of events that were not delivered within a day, newest first. */
  listFailures(
    id: string,
    page: { cursor?: string | undefined; limit?: number | undefined } = {},
  ): Promise<WebhookFailurePage> {
    return this.#call({ method: 'GET', path: `${pathOf(id)}/failures`, query: page, answer: webhookFailurePage });
  }

  /** Sends these undelivered events again, or all of them, each once. Resolves with their number. */
  async replay(id: string, events?: readonly string[]): Promise<number> {
    const path = `${pathOf(id)}/replay`;
    return (await this.#call({ method: 'POST', path, body: { events }, answer: webhookReplayed })).replayed;
  }
}

const WEBHOOKS = '/internal/webhooks';
const pathOf = (id: string) => `${WEBHOOKS}/${encodeSegment(id)}`;
