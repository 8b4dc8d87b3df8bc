import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { ENV } from '../../contract/names.ts';
import { eventually } from '../eventually.ts';
import { processStat } from '../process-stat.ts';
import { listenTo } from './server-sent.ts';
import { type Stack, someUser, startStack } from './stack.ts';
import { webhookReceiver } from './webhook-receiver.ts';

const EVENTS_A_SECOND = 1_000;
const SECONDS = 4;
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
async function writeSteadily(stack: Stack, sessions: readonly string[]): Promise<number> {
  const databaseName = String(stack.settings.databaseUrl).split('/').at(-1) ?? '';
  const before = postgresSeconds(databaseName);
  const startMs = performance.now();
  for (let tick = 1; tick <= (SECONDS * 1000) / TICK_MS; tick++) {
    await stack.database.query(
      `select omicron.write_event(id, 1, 'file.added', '{"n": 1}') from unnest($1::uuid[]) id, generate_series(1, $2) round`,
      [sessions, (EVENTS_A_SECOND * TICK_MS) / 1000 / sessions.length],
    );
    await sleep(Math.max(0, startMs + tick * TICK_MS - performance.now()));
  }
  return ((postgresSeconds(databaseName) - before) * 1000) / (performance.now() - startMs);
}

// The times of processes are in /proc.
test.runIf(process.platform === 'linux')(
  '1,000 events a second to two streams and one webhook take at most 0.1 core of Postgres beyond writing them',
  async () => {
    await using stack = await startStack({
      OMICRON_POOL_IDLE: 0,
      OMICRON_CAPACITY: 50,
      OMICRON_USER_LIMIT: 50,
      [ENV.webhookAllowedCidrs]: '127.0.0.1/32',
    });
    await using receiver = await webhookReceiver();
    const user = someUser();
    const sessions = await Promise.all(
      Array.from(
        { length: 50 },
        async () => (await stack.lease({ user_id: user, conversation_id: randomUUID() })).session_id,
      ),
    );
    const alone = await writeSteadily(stack, sessions);
    const streamed = new Map<number, string[]>([
      [1, []],
      [2, []],
    ]);
    const streams = await Promise.all(
      [...streamed.values()].map(ids =>
        listenTo({
          replica: stack,
          path: '/internal/events?kind=file.added',
          onEvent: ({ id }) => void ids.push(String(id)),
        }),
      ),
    );
    const body = { url: receiver.url, kinds: ['file.added'] };
    expect((await stack.call('POST', '/internal/webhooks', { body })).status).toBe(201);
    const following = await writeSteadily(stack, sessions);
    const wanted = EVENTS_A_SECOND * SECONDS;
    const received = () => receiver.received.map(({ event }) => event.id);
    await eventually('all events', () => [...streamed.values(), received()].every(ids => ids.length >= wanted));
    for (const ids of [...streamed.values(), received()]) {
      expect(ids).toHaveLength(wanted);
      expect(new Set(ids).size).toBe(wanted);
    }
    expect(following - alone).toBeLessThan(0.1);
    for (const stream of streams) stream.stop();
  },
);
