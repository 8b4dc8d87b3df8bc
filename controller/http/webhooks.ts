import { randomUUID } from 'node:crypto';
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import * as z from 'zod';
import { ENV } from '../../contract/names.ts';
import { OmicronError } from '../../contract/problem.ts';
import {
  WEBHOOK_LIMITS,
  webhook,
  webhookAdded,
  webhookFailurePage,
  webhookFailureQuery,
  webhookList,
  webhookReplay,
  webhookReplayed,
  webhookRequest,
  webhookSecret,
  webhookTest,
} from '../../contract/webhook.ts';
import type { CheckedConnections } from '../../egress/checked-connections.ts';
import type { Clock } from '../../time/clock.ts';
import type { Webhooks } from '../store/webhooks.ts';
import type { Wake } from '../wake.ts';
import type { WebhookDeliveries } from '../webhooks/deliveries.ts';
import type { WebhookSecrets } from '../webhooks/sealed-secret.ts';
import { newWebhookSecret } from '../webhooks/sign.ts';
import { serviceOnly } from './bearer.ts';
import { describeRoutes } from './describe.ts';

export interface WebhookRoutes {
  serviceKey: Uint8Array;
  webhooks: Webhooks;
  webhookSecrets: WebhookSecrets;
  webhookConnections: CheckedConnections;
  webhookDeliveries: WebhookDeliveries;
  wake: { webhooks: Wake };
  clock: Clock;
}

/** Both secrets sign for a day after a rotation: receivers change theirs in this time. */
const BOTH_SECONDS = 86_400;

const params = z.object({ webhook_id: z.uuid().describe('Id of the webhook.') });

/** B5: endpoints that events are sent to. They are the deployment's: a token that is limited to a user has none. */
export const webhookRoutes: FastifyPluginAsyncZod<WebhookRoutes> = async (app, parts) => {
  app.addHook('onRoute', describeRoutes('service', 'webhooks'));
  app.decorateRequest('userId', null);
  app.addHook('onRequest', serviceOnly(parts.serviceKey));
  app.addHook('onRequest', async request => {
    if (request.userId !== null)
      throw new OmicronError('forbidden', 'A token limited to a user may not read or change webhooks.');
  });
  await endpointRoutes(app, parts);
  await deliveryRoutes(app, parts);
};

/** Endpoints and their secrets. */
const endpointRoutes: FastifyPluginAsyncZod<WebhookRoutes> = async (app, parts) => {
  const { webhooks, webhookSecrets, webhookConnections, wake } = parts;

  app.post(
    '',
    {
      schema: {
        operationId: 'addWebhook',
        summary: 'Adds an endpoint that events from now on are sent to; the answer alone shows its secret',
        body: webhookRequest,
        response: { 201: webhookAdded },
      },
    },
    async (request, reply) => {
      const { url, ...rest } = request.body;
      await requireReachable(url, webhookConnections);
      const id = randomUUID();
      const secret = newWebhookSecret();
      const sealedSecret = webhookSecrets.seal(secret, id);
      const added = await webhooks.add({ ...rest, url, id, sealedSecret }, WEBHOOK_LIMITS.webhooksMax);
      if (added === null)
        throw new OmicronError(
          'webhooks_quota_exceeded',
          `There are ${WEBHOOK_LIMITS.webhooksMax} webhooks already: delete one first.`,
        );
      wake.webhooks.kick();
      return reply.status(201).send({ ...added, secret });
    },
  );

  app.get(
    '',
    {
      schema: {
        operationId: 'listWebhooks',
        summary: 'Webhooks, and how far each has come',
        response: { 200: webhookList },
      },
    },
    async () => ({ webhooks: await webhooks.list() }),
  );

  app.get(
    '/:webhook_id',
    {
      schema: {
        operationId: 'getWebhook',
        summary: 'One webhook, and how far it has come',
        params,
        response: { 200: webhook },
      },
    },
    async request => found(await webhooks.get(request.params.webhook_id)),
  );

  app.post(
    '/:webhook_id/rotate-secret',
    {
      schema: {
        operationId: 'rotateWebhookSecret',
        summary: 'Makes a new secret; for a day deliveries are signed with it and with the one before',
        params,
        response: { 200: webhookSecret },
      },
    },
    async request => {
      const { webhook_id } = request.params;
      const secret = newWebhookSecret();
      const sealed = webhookSecrets.seal(secret, webhook_id);
      found((await webhooks.rotateSecret(webhook_id, sealed, BOTH_SECONDS)) || null);
      return { secret, both_until: new Date(Date.now() + BOTH_SECONDS * 1000).toISOString() };
    },
  );

  app.delete(
    '/:webhook_id',
    {
      schema: {
        operationId: 'deleteWebhook',
        summary: 'Deletes a webhook, with its list of undelivered events; repeating it changes nothing',
        params,
        response: { 204: z.null() },
      },
    },
    async (request, reply) => {
      await webhooks.remove(request.params.webhook_id);
      return reply.status(204).send(null);
    },
  );
};

/** Their deliveries. */
const deliveryRoutes: FastifyPluginAsyncZod<WebhookRoutes> = async (
  app,
  { webhooks, webhookDeliveries, wake, clock },
) => {
  for (const verb of ['pause', 'resume'] as const)
    app.post(
      `/:webhook_id/${verb}`,
      {
        schema: {
          operationId: `${verb}Webhook`,
          summary:
            verb === 'pause'
              ? 'Stops deliveries within a second; events wait for as long as they are kept'
              : 'Goes on with the event at which it was paused',
          params,
          response: { 200: webhook },
        },
      },
      async request => {
        const changed = found(await webhooks.pause(request.params.webhook_id, verb === 'pause'));
        wake.webhooks.kick();
        return changed;
      },
    );

  app.post(
    '/:webhook_id/test',
    {
      schema: {
        operationId: 'testWebhook',
        summary: 'Sends one event of the type `webhook.test` now, and answers how the endpoint took it',
        params,
        response: { 200: webhookTest },
      },
    },
    async request => {
      const startedMs = clock.nowMs();
      const { status, error } = found(await webhookDeliveries.test(request.params.webhook_id));
      return { delivered: error === null, status, error, duration_ms: Math.round(clock.nowMs() - startedMs) };
    },
  );

  app.get(
    '/:webhook_id/failures',
    {
      schema: {
        operationId: 'listWebhookFailures',
        summary: 'Events that were not delivered within a day, newest first',
        params,
        querystring: webhookFailureQuery,
        response: { 200: webhookFailurePage },
      },
    },
    async request => {
      const { webhook_id } = request.params;
      const { cursor = null, limit } = request.query;
      found(await webhooks.get(webhook_id));
      const failures = await webhooks.failures(webhook_id, cursor, limit);
      const last = failures.length === limit ? failures.at(-1)?.id.split('.')[1] : undefined;
      return { failures, next_cursor: last ?? null };
    },
  );

  app.post(
    '/:webhook_id/replay',
    {
      schema: {
        operationId: 'replayWebhook',
        summary: 'Sends undelivered events again, in order, each once; those that fail stay in the list',
        params,
        body: webhookReplay.nullish(),
        response: { 200: webhookReplayed },
      },
    },
    async request => {
      const { webhook_id } = request.params;
      found(await webhooks.get(webhook_id));
      return { replayed: await webhooks.replay(webhook_id, request.body?.events ?? null) };
    },
  );
};

function found<T>(value: T | null): T {
  if (value === null)
    throw new OmicronError('webhook_not_found', 'There is no webhook with this id; list them to find the right one.');
  return value;
}

/** Throws `invalid_request`, with the value, for what is no address that a webhook may have. */
async function requireReachable(text: string, connections: CheckedConnections): Promise<void> {
  const refuse = (why: string): never => {
    throw new OmicronError('invalid_request', `Invalid request: body/url ${why}.`);
  };
  const url = URL.parse(text);
  const example = 'give an https URL such as https://example.com/hooks';
  if (url === null) return refuse(`${JSON.stringify(text)} is no URL; ${example}`);
  if (!['https:', 'http:'].includes(url.protocol)) return refuse(`has the scheme ${url.protocol}; ${example}`);
  if (url.username !== '' || url.password !== '')
    return refuse(`holds a user or a password for ${url.host}; leave them out: each delivery is signed`);
  const refusal = await connections.judge(url, AbortSignal.timeout(10_000));
  if (refusal === undefined) return;
  const remedy = refusal.forbidden
    ? `use https and a public address, or open its range with ${ENV.webhookAllowedCidrs}`
    : 'check its name, or try again';
  refuse(`names ${url.host}, which ${refusal.why}: ${remedy}`);
}
