import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { ENV } from '../../contract/names.ts';
import { EventTail } from '../../controller/lease/event-tail.ts';
import type { Database } from '../../controller/ports/database.ts';
import { sqlEventStreams } from '../../controller/store/event-stream.ts';
import { sqlWebhookHolds, sqlWebhooks } from '../../controller/store/webhooks.ts';
import { Wake } from '../../controller/wake.ts';
import { WebhookDeliveries } from '../../controller/webhooks/deliveries.ts';
import { sealedWebhookSecrets } from '../../controller/webhooks/sealed-secret.ts';
import { checkedConnections } from '../../egress/checked-connections.ts';
import { realClock } from '../../time/clock.ts';
import { eventually } from '../eventually.ts';
import { freshPostgres } from '../postgres.ts';
import { someUser, startStack } from './stack.ts';
import { webhookReceiver } from './webhook-receiver.ts';

const KILLS = 200;
/** Steps of one delivery: statements and requests, in the order in which they come. */
const STEPS = 14;

const secrets = sealedWebhookSecrets(Buffer.alloc(32, 7));

/** Deliveries of a replica that does nothing more from one of its steps on: as much as a process does that was killed there. */
function replica(database: Database, killAt: number) {
  const killed = Promise.withResolvers<void>();
  let steps = 0;
  let isDead = false;
  /** Whether the step, which is about to be done or has just been done, is the last one. */
  const step = () => {
    steps += 1;
    if (steps < killAt) return;
    isDead = true;
    killed.resolve();
  };
  const dying: Database = {
    ...database,
    async query<Row extends object>(sql: string, parameters?: readonly unknown[]) {
      step();
      if (isDead) throw new Error('killed');
      const rows = await database.query<Row>(sql, parameters);
      step();
      if (isDead) throw new Error('killed');
      return rows;
    },
  };
  const log = pino({ level: 'silent' });
  const eventTail = new EventTail({
    eventStreams: sqlEventStreams(dying),
    waits: { sessions: new Wake() },
    clock: realClock,
    onError: () => {},
  });
  const deliveries = new WebhookDeliveries({
    webhooks: sqlWebhooks(dying),
    holds: sqlWebhookHolds(dying),
    secrets,
    connections: checkedConnections({ denied: [], allowed: ['127.0.0.1/32'], lookupMs: 1_000, connectMs: 1_000 }),
    eventTail,
    version: '0',
    clock: realClock,
    metrics: { webhookAttempted() {}, webhookGaveUp() {} },
    log,
  });
  return { deliveries, step, killed: killed.promise, isDead: () => isDead };
}

/** Sessions of a controller that has stopped: it delivers nothing. */
async function leases(databaseUrl: string): Promise<string[]> {
  await using stack = await startStack({ OMICRON_POOL_IDLE: 0, [ENV.databaseUrl]: databaseUrl });
  const ask = async () => (await stack.lease({ user_id: someUser(), conversation_id: randomUUID() })).session_id;
  return [await ask(), await ask(), await ask()];
}

test(`${KILLS} replicas that are killed, each at another of its steps, lose no event, and send those of a session in order`, async () => {
  const database = await freshPostgres();
  await using receiver = await webhookReceiver();
  const sessions = await leases(database.url);
  const id = randomUUID();
  await sqlWebhooks(database).add(
    {
      id,
      url: receiver.url,
      description: '',
      kinds: ['file.added'],
      user_id: null,
      sealedSecret: secrets.seal('whsec_AAAA', id),
    },
    10,
  );
  let current = replica(database, Number.POSITIVE_INFINITY);
  let refuses = 0;
  receiver.answer.with = () => {
    current.step(); // killed while the endpoint has the event, and before it answers
    refuses += 1;
    return refuses % 7 === 0 ? 503 : 204;
  };
  let written = 0;
  let kills = 0;
  for (let round = 0; kills < KILLS; round++) {
    written += 1;
    for (const session of sessions)
      await database.query(`select omicron.write_event($1, 1, 'file.added', jsonb_build_object('n', $2::int))`, [
        session,
        written,
      ]);
    // the hold of the one that was killed has passed, and what waits is due
    await database.query(`update omicron.webhooks set held_until = clock_timestamp() - interval '1 second'`);
    await database.query('update omicron.webhook_waits set next_at = clock_timestamp()');
    current = replica(database, 2 + (round % (2 * STEPS)));
    const running = current.deliveries.runOnce().catch(() => undefined);
    const idle = new Promise<void>(done => setTimeout(done, 400).unref());
    await Promise.race([current.killed, idle]);
    await running;
    kills += current.isDead() ? 1 : 0;
    await current.deliveries.stop();
  }
  await database.query(`update omicron.webhooks set held_until = clock_timestamp() - interval '1 second'`);
  await database.query('update omicron.webhook_waits set next_at = clock_timestamp()');
  receiver.answer.with = () => 204;
  const last = replica(database, Number.POSITIVE_INFINITY);
  await last.deliveries.runOnce();
  const seenOf = (session: string) =>
    receiver.received.filter(({ event }) => event.session_id === session).map(({ event }) => Number(event.data.n));
  await eventually('all events', () => sessions.every(session => seenOf(session).at(-1) === written));
  await last.deliveries.stop();
  const all = Array.from({ length: written }, (_, n) => n + 1);
  for (const session of sessions) expect([...new Set(seenOf(session))]).toEqual(all);
  const [state] = await sqlWebhooks(database).list();
  expect(state).toMatchObject({ waiting_sessions: 0, failed: 0 });
  expect(kills).toBe(KILLS);
});
