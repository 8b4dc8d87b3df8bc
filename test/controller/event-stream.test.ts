import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { EXIT } from '../../cli/exit.ts';
import { runCommand } from '../../cli/program.ts';
import { BrowserSessions } from '../../client/browser-sessions.ts';
import type { StreamedEvent } from '../../contract/event-stream.ts';
import { ENV } from '../../contract/names.ts';
import { signServiceToken } from '../../contract/tokens.ts';
import { freePort } from '../../local/free-port.ts';
import { eventually } from '../eventually.ts';
import { connection } from '../postgres.ts';
import { listenTo } from './server-sent.ts';
import { type Deployment, deployment, type Stack, someUser, startStack } from './stack.ts';

let shared: Deployment;
let stack: Stack;
beforeAll(async () => {
  shared = await deployment({ OMICRON_POOL_IDLE: 0, OMICRON_CAPACITY: 50, OMICRON_USER_LIMIT: 50 });
  stack = await startStack({}, shared);
});
afterAll(async () => {
  await stack[Symbol.asyncDispose]();
  await shared[Symbol.asyncDispose]();
});

interface Wanted {
  readonly replica?: Pick<Stack, 'url' | 'serviceKey'>;
  readonly query?: string;
  readonly after?: string | undefined;
  /** Limits the token. */
  readonly user?: string;
}

const headersAfter = (after: string | undefined): Record<string, string> =>
  after === undefined ? {} : { 'last-event-id': after };

const get = async ({ replica = stack, query = '', after, user }: Wanted) =>
  fetch(`${replica.url}/internal/events${query}`, {
    headers: { ...headersAfter(after), authorization: `Bearer ${await signServiceToken(replica.serviceKey, user)}` },
  });

/** A reader of the stream; `events` are those that it has received whole. */
async function listen({ replica = stack, query = '', after, user }: Wanted = {}) {
  const events: (StreamedEvent & { sseId: string | undefined; sseEvent: string | undefined })[] = [];
  const reader = await listenTo({
    replica,
    path: `/internal/events${query}`,
    headers: headersAfter(after),
    user,
    onEvent: ({ data, id, event }) =>
      events.push({ ...(data as unknown as StreamedEvent), sseId: id, sseEvent: event }),
  });
  expect(reader.response.status).toBe(200);
  const numbers = () => events.map(({ data }) => data.n).filter(n => n !== undefined);
  return { ...reader, events, numbers };
}

/** A session whose events a test writes. */
async function session(user = someUser()): Promise<string> {
  return (await stack.lease({ user_id: user, conversation_id: randomUUID() })).session_id;
}

/** Writes an event in a transaction that stays open until it is ended. */
async function openTransaction(sessionId: string) {
  const client = await connection(stack.settings.databaseUrl ?? '');
  await client.query('begin');
  const write = (n: number) =>
    client.query(`select omicron.write_event($1, 1, 'file.added', jsonb_build_object('n', $2::int))`, [sessionId, n]);
  return { write, commit: () => client.query('commit'), rollback: () => client.query('rollback') };
}

async function writeNow(sessionId: string, n: number): Promise<void> {
  const sql = `select omicron.write_event($1, 1, 'file.added', jsonb_build_object('n', $2::int))`;
  await stack.database.query(sql, [sessionId, n]);
}

describe('order', () => {
  test('an event whose transaction is committed after one that began later is neither missed nor sent twice, by any reader', async () => {
    await using other = await startStack({}, shared);
    const id = await session();
    const query = `?session_id=${id}&kind=file.added`;
    const readers = [await listen({ query }), await listen({ replica: other, query })];
    await writeNow(id, 0);
    await eventually('the first event', () => readers.every(({ events }) => events.length === 1));
    const first = readers[0]?.events[0]?.id;

    const early = await openTransaction(id);
    await early.write(1);
    await writeNow(id, 2);
    const abandoned = await openTransaction(id);
    await abandoned.write(3);
    await writeNow(id, 4);
    // Event 2 is committed. A reader that were at its place would never be sent event 1, which has a smaller id.
    const between = await listen({ query, after: first });
    await early.commit();
    await eventually('events up to the one that runs', () =>
      [...readers, between].every(reader => reader.numbers().includes(2)),
    );
    const resumed = await listen({ query, after: between.events.at(-1)?.id });
    await abandoned.rollback();
    await eventually('the last event', () => [...readers, between, resumed].every(r => r.numbers().includes(4)));
    for (const reader of readers) expect(reader.numbers()).toEqual([0, 1, 2, 4]);
    expect([...between.numbers()]).toEqual([1, 2, 4]);
    expect(resumed.numbers()).toEqual([4]);
    const whole = await listen({ query, after: '0.0' });
    await eventually('all', () => whole.events.length === 4);
    expect(whole.events.map(({ id: place }) => place)).toEqual(readers[0]?.events.map(({ id: place }) => place));
    for (const reader of [...readers, between, resumed, whole]) reader.stop();
  });

  test('a reader whose replicas are killed again and again misses no event of writers that commit in any order', async () => {
    const id = await session();
    const query = `?session_id=${id}&kind=file.added`;
    const writers = 4;
    const each = 15;
    let done = false;
    const writing = Promise.all(
      Array.from({ length: writers }, async (_, writer) => {
        for (let round = 0; round < each; round++) {
          const transaction = await openTransaction(id);
          await transaction.write((writer * each + round) * 2);
          await stack.database.query('select pg_sleep(random() * 0.01)');
          await transaction.write((writer * each + round) * 2 + 1);
          if (round % 5 === 4) await transaction.rollback();
          else await transaction.commit();
        }
      }),
    ).then(() => {
      done = true;
    });
    const seen: StreamedEvent[] = [];
    let after: string | undefined = '0.0';
    for (let replicas = 0; replicas < 40; replicas++) {
      const before = seen.length;
      await using replica = await startStack({}, shared);
      const reader = await listen({ replica, query, after });
      if (done) {
        await writeNow(id, -1);
        await eventually('the last event', () => reader.numbers().includes(-1));
      } else await eventually('some events', () => done || reader.events.length > 5 + (replicas % 7));
      reader.stop(); // in the middle of whatever it was sent
      await reader.reading;
      seen.push(...reader.events);
      after = seen.at(-1)?.id ?? after;
      if (reader.numbers().includes(-1)) break;
      expect(seen.length).toBeGreaterThanOrEqual(before);
    }
    await writing;
    const wanted = Array.from({ length: writers * each }, (_, n) => n).filter(n => (n % each) % 5 !== 4);
    const numbers = seen.map(({ data }) => Number(data.n)).filter(n => n >= 0);
    expect(numbers.toSorted((a, b) => a - b)).toEqual(wanted.flatMap(n => [2 * n, 2 * n + 1]));
    expect(new Set(seen.map(({ id: place }) => place)).size).toBe(seen.length);
    const all = await listen({ query, after: '0.0' });
    await eventually('all events', () => all.events.length === seen.length);
    expect(all.events.map(({ id: place }) => place)).toEqual(seen.map(({ id: place }) => place));
    all.stop();
  });

  test('a reader that takes nothing for a while gets all of it in the end, and costs the controller no memory meanwhile', async () => {
    const id = await session();
    const query = `?session_id=${id}&kind=file.added`;
    const response = await get({ query, after: '0.0' });
    await stack.database.query(
      `select omicron.write_event($1, 1, 'file.added', jsonb_build_object('n', n, 'text', repeat('x', 2000))) from generate_series(1, 3000) n`,
      [id],
    );
    await writeNow(id, -1);
    // One reader that keeps up shows that the events were sent.
    const quick = await listen({ query, after: '0.0' });
    await eventually('the last event', () => quick.numbers().includes(-1));
    quick.stop();
    let text = '';
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += chunk;
      if (text.includes('"n":-1')) break;
    }
    const numbers = [...text.matchAll(/"n":(-?\d+)/g)].map(([, n]) => Number(n));
    expect(numbers).toEqual([...Array.from({ length: 3_000 }, (_, n) => n + 1), -1]);
  });

  test('events of a dump that another server restored come before new ones, and a place beyond them is refused', async () => {
    const id = await session();
    const query = `?session_id=${id}&kind=file.added`;
    await writeNow(id, 1);
    // As it is on a server that has had fewer transactions.
    await stack.database.query('update omicron.session_events set tx = tx + 1000000000000 where session_id = $1', [id]);
    expect((await get({ query, after: '99000000000000.1' })).status).toBe(400);
    await using restored = await startStack({}, shared);
    await writeNow(id, 2);
    const reader = await listen({ replica: restored, query, after: '0.0' });
    await eventually('both', () => reader.events.length === 2);
    expect(reader.numbers()).toEqual([1, 2]);
    reader.stop();
  });
});

test('the SDK and the command go on through a restart of the controller, and hand out each event once', async () => {
  const id = await session();
  const port = await freePort();
  let replica = await startStack({ OMICRON_PORT: port }, shared);
  const serviceSecret = String(shared.environment[ENV.serviceSecret]);
  const stop = new AbortController();
  const wanted = { sessionId: id, kinds: ['file.added'] as const, after: 'start', signal: stop.signal };
  const bySdk: unknown[] = [];
  const following = (async () => {
    for await (const { data } of new BrowserSessions({ url: replica.url, serviceSecret }).followEvents(wanted))
      bySdk.push(data.n);
  })();
  let printed = '';
  const command = ['events', '--follow', '--session', id, '--kind', 'file.added', '--after', 'start'];
  const running = runCommand(command, {
    environment: { [ENV.controllerUrl]: replica.url, [ENV.serviceSecret]: serviceSecret },
    signal: stop.signal,
    stdin: process.stdin,
    stdout: {
      write: text => {
        printed += text;
      },
    },
    stderr: { write: () => {} },
  });
  const byCommand = () =>
    printed
      .split('\n')
      .slice(0, -1)
      .map(line => JSON.parse(line).data.n);
  const bothHave = (n: number) => () => bySdk.includes(n) && byCommand().includes(n);
  await writeNow(id, 1);
  await eventually('the first event', bothHave(1));
  await replica[Symbol.asyncDispose]();
  await writeNow(id, 2);
  replica = await startStack({ OMICRON_PORT: port }, shared);
  await writeNow(id, 3);
  await eventually('the last event', bothHave(3));
  stop.abort(new Error('enough'));
  await expect(following).rejects.toThrow('enough');
  expect(await running).toBe(EXIT.interrupted);
  await replica[Symbol.asyncDispose]();
  expect(bySdk).toEqual([1, 2, 3]);
  expect(byCommand()).toEqual([1, 2, 3]);
  const refused = new BrowserSessions({ url: stack.url, serviceSecret }).followEvents({ after: 'yesterday' });
  await expect(refused.next()).rejects.toMatchObject({ code: 'invalid_request' });
});

describe('choice', () => {
  test('a reader gets the kinds, the user or the session that it asks for, and an event says whose it is', async () => {
    const [ada, bob] = [someUser(), someUser()];
    const [hers, his] = [await session(ada), await session(bob)];
    const readers = {
      all: await listen(),
      hers: await listen({ query: `?user_id=${encodeURIComponent(ada)}` }),
      his: await listen({ query: `?session_id=${his}&kind=file.added&kind=login` }),
      limited: await listen({ user: ada }),
    };
    await writeNow(hers, 1);
    await writeNow(his, 2);
    await stack.database.query(`select omicron.write_event($1, 1, 'tool.call', '{"n": 3}')`, [his]);
    await eventually('all', () => readers.all.numbers().length === 3);
    await eventually('each', () => readers.hers.numbers().length > 0 && readers.his.numbers().length > 0);
    await eventually('the limited one', () => readers.limited.numbers().length > 0);
    expect(readers.all.numbers()).toEqual([1, 2, 3]);
    expect(readers.hers.numbers()).toEqual([1]);
    expect(readers.his.numbers()).toEqual([2]);
    expect(readers.limited.numbers()).toEqual([1]);
    expect(readers.hers.events.at(-1)).toMatchObject({
      session_id: hers,
      user_id: ada,
      epoch: 1,
      kind: 'file.added',
      sseEvent: 'file.added',
      sseId: readers.hers.events.at(-1)?.id,
      data: { n: 1 },
    });
    expect(readers.all.response.headers.get('content-type')).toContain('text/event-stream');
    for (const reader of Object.values(readers)) reader.stop();
  });

  test('wrong places, kinds and users are refused by name, and a token of one user reads no one else', async () => {
    const problem = async (wanted: Wanted) => {
      const answer = await get(wanted);
      return [answer.status, JSON.stringify(await answer.json())] as const;
    };
    for (const after of ['x', '-1.2', '1', '1.2.3', '999999999999999999999.1', "1.1' or 1=1"])
      expect(await problem({ after }), after).toEqual([400, expect.stringContaining('last-event-id')]);
    expect(await problem({ query: '?kind=tool.cal' })).toEqual([400, expect.stringContaining('kind')]);
    expect(await problem({ query: '?session_id=1' })).toEqual([400, expect.stringContaining('session_id')]);
    expect(await problem({ query: '?limit=1' })).toEqual([400, expect.stringContaining('limit')]);
    expect((await problem({ query: '?user_id=bob', user: 'ada' }))[0]).toBe(403);
    expect((await fetch(`${stack.url}/internal/events`)).status).toBe(401);
  });

  test('the database is asked by no one while there is no reader', async () => {
    const reader = await listen();
    reader.stop();
    await reader.reading;
    const before = await eventually('no more looks', async () => {
      const count = stack.queried('events_after');
      await stack.database.query('select pg_sleep(0.6)');
      return stack.queried('events_after') === count && count;
    });
    await stack.database.query('select pg_sleep(0.6)');
    expect(stack.queried('events_after')).toBe(before);
  });
});
