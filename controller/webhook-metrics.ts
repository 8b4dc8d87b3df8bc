import { Counter, type Registry } from '@prometheus-io/client';

const OUTCOMES = ['delivered', 'failed'] as const;

export interface WebhookMetrics {
  /** An endpoint took an event, or did not. */
  webhookAttempted(outcome: (typeof OUTCOMES)[number]): void;
  /** Events were given up after a day, and are listed as undelivered. */
  webhookGaveUp(events: number): void;
}

/** The series of webhooks, over all endpoints of this replica. */
export function webhookMetrics(registry: Registry): WebhookMetrics {
  const registers = [registry];
  const attempts = new Counter({
    name: 'omicron_webhook_attempts_total',
    help: 'Events that this replica sent to a webhook, by outcome; a failed one is sent again',
    labelNames: ['outcome'],
    registers,
  });
  for (const outcome of OUTCOMES) attempts.inc({ outcome }, 0);
  const undelivered = new Counter({
    name: 'omicron_webhook_undelivered_events_total',
    help: 'Events that a webhook did not take within a day: they are listed as undelivered, and can be replayed',
    registers,
  });
  return {
    webhookAttempted: outcome => attempts.inc({ outcome }),
    webhookGaveUp: events => undelivered.inc(events),
  };
}
