import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { ENV } from '../../contract/names.ts';
import { listenTo } from '../controller/server-sent.ts';
import { type Stack, someUser, startStack } from '../controller/stack.ts';
import { webhookReceiver } from '../controller/webhook-receiver.ts';
import { eventually } from '../eventually.ts';
import { processStat } from '../process-stat.ts';

const EVENTS_A_SECOND = 1_000;
const SESSIONS = 50;
const STREAMS = 2;
const TICK_MS = 100;

/** Seconds of a core that the connections to a database have taken by now. */
function postgresSeconds(databaseName: string): number {
  let seconds = 0;
  for (const pid of readdirSync('/proc').filter(name => /^\d+$/.test(name)))
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
      if (!command.startsWith('postgres: ') || !command.includes(databaseName)) continue;
      seconds += processStat(pid)?.cpu ?? 0;
    } catch {
      // a process that has ended meanwhile
    }
  return seconds;
}

/** Writes events of many sessions at a steady rate, and resolves with the cores that Postgres took meanwhile. */
async function writeSteadily(stack: Stack, sessions: readonly string[], seconds: number): Promise<number> {
  const databaseName = String(stack.settings.databaseUrl).split('/').at(-1) ?? '';
  const before = postgresSeconds(databaseName);
  const startMs = performance.now();
  for (let tick = 1; tick <= (seconds * 1000) / TICK_MS; tick++) {
    await stack.database.query(
      `select omicron.write_event(id, 1, 'file.added', '{"n": 1}') from unnest($1::uuid[]) id, generate_series(1, $2) round`,
      [sessions, (EVENTS_A_SECOND * TICK_MS) / 1000 / sessions.length],
    );
    await sleep(Math.max(0, startMs + tick * TICK_MS - performance.now()));
  }
  return ((postgresSeconds(databaseName) - before) * 1000) / (performance.now() - startMs);
}

/** Over all readers. */
export interface EventRate {
  readonly delivered: number;
  readonly lost: number;
  readonly twice: number;
  /** Cores of Postgres beyond those that writing the events takes. */
  readonly postgres_cores: number;
}

/** 1,000 events a second, for some seconds without a reader and then to two streams and one webhook. */
export async function measureEventRate(seconds: number, settings: Record<string, unknown> = {}): Promise<EventRate> {
  await using stack = await startStack({
    OMICRON_POOL_IDLE: 0,
    OMICRON_CAPACITY: SESSIONS,
    OMICRON_USER_LIMIT: SESSIONS,
    [ENV.webhookAllowedCidrs]: '127.0.0.1/32',
    ...settings,
  });
  await using receiver = await webhookReceiver();
  const user = someUser();
  const lease = async () => (await stack.lease({ user_id: user, conversation_id: randomUUID() })).session_id;
  const sessions = await Promise.all(Array.from({ length: SESSIONS }, lease));
  const alone = await writeSteadily(stack, sessions, seconds);
  const streamed = Array.from({ length: STREAMS }, (): string[] => []);
  const streams = await Promise.all(
    streamed.map(ids =>
      listenTo({
        replica: stack,
        path: '/internal/events?kind=file.added',
        onEvent: ({ id }) => void ids.push(String(id)),
      }),
    ),
  );
  const { status } = await stack.call('POST', '/internal/webhooks', {
    body: { url: receiver.url, kinds: ['file.added'] },
  });
  if (status !== 201) throw new Error(`the webhook was answered with ${status}`);
  const following = await writeSteadily(stack, sessions, seconds);
  const wanted = EVENTS_A_SECOND * seconds;
  const readers = () => [...streamed, receiver.received.map(({ event }) => event.id)];
  // those that do not come are counted below
  await eventually('all events', () => readers().every(ids => ids.length >= wanted)).catch(() => undefined);
  for (const stream of streams) stream.stop();
  const counts = readers().map(ids => ({ all: ids.length, different: new Set(ids).size }));
  const total = (of: (each: (typeof counts)[number]) => number) => counts.reduce((sum, each) => sum + of(each), 0);
  return {
    delivered: total(({ different }) => different),
    lost: total(({ different }) => wanted - different),
    twice: total(({ all, different }) => all - different),
    postgres_cores: Math.round(1_000 * (following - alone)) / 1_000,
  };
}
