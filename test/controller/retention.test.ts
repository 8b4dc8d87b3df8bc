import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { pruneLoop } from '../../controller/loops/prune.ts';
import { parseControllerSettings } from '../../controller/settings.ts';
import { sqlPruning } from '../../controller/store/pruning.ts';
import { realClock } from '../../time/clock.ts';
import { eventually } from '../eventually.ts';
import { connection, freshPostgres, lockAwaited } from '../postgres.ts';
import { protocol } from './protocol.ts';
import { startStack } from './stack.ts';

type Protocol = ReturnType<typeof protocol>;
type Postgres = Awaited<ReturnType<typeof freshPostgres>>;

const COUNTED = ['session_events', 'browser_sessions', 'runners', 'artifacts', 'user_actions', 'policies'];

/** A round of the loop, and what it removed by table. */
async function prune(database: Postgres, days = { events: 30, sessions: 90 }): Promise<Record<string, number>> {
  const removed: Record<string, number> = {};
  const metrics = {
    pruned(table: string, rows: number) {
      removed[table] = (removed[table] ?? 0) + rows;
    },
  };
  const parts = { pruning: sqlPruning(database), metrics, days, clock: realClock, log: pino({ level: 'silent' }) };
  await pruneLoop(parts).runOnce();
  return removed;
}

async function counts(database: Postgres): Promise<Record<string, number>> {
  const all: Record<string, number> = {};
  for (const table of COUNTED) {
    const [row] = await database.query<{ rows: number }>(`select count(*)::int as rows from omicron.${table}`);
    all[table] = row?.rows ?? 0;
  }
  return all;
}

/** Leases a conversation, ends it, and sees its runner gone; with one user action, one policy and one artifact row. */
async function ended(p: Protocol, database: Postgres, conversationId: string): Promise<string> {
  const { session, runner } = await p.lease({ conversationId });
  await database.query(
    `insert into omicron.user_actions (id, session_id, epoch, reason, expires_at) values (gen_random_uuid(), $1, 1, 'a code', now())`,
    [session.id],
  );
  await database.query(`select omicron.put_policy('session', $1, '{"version": 1}')`, [session.id]);
  await p.leases.end(session.id, null, null, 'released');
  await p.fleet.markGone(runner.id); // a recorded lease without a video: its artifact row says that it is lost
  return session.id;
}

/** Makes every row look as if it had been written `days` days ago. */
async function ageAll(database: Postgres, days: number): Promise<void> {
  await database.script(`
    alter table omicron.browser_sessions disable trigger guard_session;
    update omicron.browser_sessions set created_at = created_at - interval '${days} days', updated_at = updated_at - interval '${days} days';
    alter table omicron.browser_sessions enable trigger guard_session;
    update omicron.runners set gone_at = gone_at - interval '${days} days';
    update omicron.session_events set at = at - interval '${days} days';
    update omicron.user_actions set expires_at = expires_at - interval '${days} days';`);
}

it('removes events after their days, and no younger ones', async () => {
  const database = await freshPostgres();
  const p = protocol(database);
  await p.warm(2);
  await ended(p, database, 'old');
  await ageAll(database, 31);
  const young = await ended(p, database, 'young');
  const { session_events: removed, ...rest } = await prune(database);
  expect(removed).toBe(4); // claimed, ready, ended, runner gone
  expect(rest).toEqual({});
  const left = await database.query<{ session_id: string }>('select distinct session_id from omicron.session_events');
  expect(left).toEqual([{ session_id: young }]);
});

it('removes an ended session after its days, with all that belongs to it', async () => {
  const database = await freshPostgres();
  const p = protocol(database);
  await p.warm(2);
  await ended(p, database, 'old');
  await ageAll(database, 91);
  const young = await ended(p, database, 'young');
  const before = await counts(database);
  expect(await prune(database, { events: 0, sessions: 0 })).toEqual({}); // 0: without end
  const removed = await prune(database);
  expect(removed).toEqual({
    ...{ session_events: 4, browser_sessions: 1, runners: 1 },
    ...{ artifacts: 1, user_actions: 1, policies: 1 },
  });
  expect(await counts(database)).toEqual(
    Object.fromEntries(COUNTED.map(table => [table, (before[table] ?? 0) - (removed[table] ?? 0)])),
  );
  expect((await p.session(young)).status).toBe('ended');
});

it('keeps sessions that live, have a stored artifact, or a runner that is not gone', async () => {
  const database = await freshPostgres();
  const p = protocol(database, { userLimit: 9 });
  await p.warm(4);
  const live = await p.lease({ conversationId: 'live' });
  const draining = await p.lease({ conversationId: 'draining' });
  await p.leases.end(draining.session.id, null, null, 'released');
  const stored = await ended(p, database, 'stored');
  await database.query(
    `update omicron.artifacts set state = 'stored', uri = 'file:///v', bytes = 1 where session_id = $1`,
    [stored],
  );
  await ageAll(database, 400);
  const { browser_sessions: sessions = 0, runners = 0, artifacts = 0 } = await prune(database);
  expect([sessions, runners, artifacts]).toEqual([0, 0, 0]);
  for (const { session, runner } of [live, draining]) {
    expect(await p.session(session.id)).toBeDefined();
    expect(await p.runner(runner.id)).toBeDefined();
    // their runners may repeat what they reported
    expect((await p.directory.events(session.id, { limit: 10 })).events.length).toBeGreaterThan(1);
  }
});

it('writes an event once that a runner repeats after old events were removed', async () => {
  const database = await freshPostgres();
  const p = protocol(database);
  await p.warm(1);
  const leased = await p.lease({ conversationId: 'long' });
  const event = { id: randomUUID(), kind: 'tool.call' as const, age_ms: 5, data: { tool: 'browser_click' } };
  await p.broker.writeEvents(p.leaseOf(leased), [event]);
  await p.leases.end(leased.session.id, null, null, 'released'); // its runner drains, and reports what it has not sent
  await ageAll(database, 400);
  await prune(database);
  expect(await p.broker.writeEvents(p.leaseOf(leased), [event])).toBe(true);
  const { events } = await p.directory.events(leased.session.id, { limit: 50 });
  expect(events.filter(({ kind }) => kind === 'tool.call')).toHaveLength(1);
});

it('removes gone runners of earlier epochs of a session that lives, and runners that never had a lease', async () => {
  const database = await freshPostgres();
  const p = protocol(database);
  await p.warm(3);
  await ended(p, database, 'c1');
  const [spare] = await database.query<{ id: string }>(`select id from omicron.runners where state = 'warm' limit 1`);
  await p.fleet.markLost(spare?.id ?? '', 'ended', 'runner_lost', 'gone');
  await p.fleet.markGone(spare?.id ?? '');
  const next = await p.lease({ conversationId: 'c1' });
  expect(next.session.epoch).toBe(2);
  await ageAll(database, 91);
  expect(await prune(database, { events: 0, sessions: 90 })).toEqual({ runners: 2, artifacts: 1, user_actions: 1 });
  expect(await p.leases.heartbeat(next.session.id, null, 2)).toMatchObject({ outcome: 'renewed' });
});

it('never lets the epoch of a conversation fall, however often its row was removed', async () => {
  const database = await freshPostgres();
  const p = protocol(database);
  await p.warm(6);
  let highest = 0;
  for (let round = 0; round < 3; round++) {
    for (const _ of ['first', 'second']) {
      const id = await ended(p, database, 'c1');
      const { epoch } = await p.session(id);
      expect(epoch).toBeGreaterThan(highest);
      highest = epoch;
    }
    await ageAll(database, 91);
    expect((await prune(database)).browser_sessions).toBe(1);
  }
  expect(highest).toBe(6);
  const places = await database.query('select * from omicron.epoch_floors');
  expect(places).toHaveLength(1); // and no name in it
});

it('a claim that waits for the removal of its session begins above its epoch', async () => {
  const database = await freshPostgres();
  const p = protocol(database);
  await p.warm(2);
  const id = await ended(p, database, 'c1');
  await ageAll(database, 91);
  const remover = await connection(database.url);
  await remover.query('begin');
  await remover.query('select omicron.prune_sessions(90, null, 10)');
  const claim = p.claim({ conversationId: 'c1' });
  await lockAwaited(database);
  await remover.query('commit');
  const { session } = await claim;
  expect(session.id).not.toBe(id);
  expect(session.epoch).toBe(2);
});

it('rows are removed on one replica at a time', async () => {
  const database = await freshPostgres();
  const p = protocol(database);
  await p.warm(1);
  await ended(p, database, 'c1');
  await ageAll(database, 91);
  const other = await connection(database.url);
  await other.query('begin');
  await other.query('select omicron.may_prune()');
  const pruning = sqlPruning(database);
  expect(await Promise.all([pruning.events(30, null), pruning.sessions(90, null), pruning.runners(90)])).toEqual([
    null,
    null,
    null,
  ]);
  await other.query('commit');
  expect((await prune(database)).browser_sessions).toBe(1);
});

it('goes on where the batch before has ended', async () => {
  const database = await freshPostgres();
  await database.query(
    `insert into omicron.browser_sessions (user_id, conversation_id, status, k8s_namespace, provider, epoch, ttl_seconds, expires_at, ends_at, options, created_at, updated_at)
     select 'ada', n::text, 'ended', 'ns', 'local', 1, 600, now(), now(), '{}', now() - interval '100 days', now() - interval '100 days' from generate_series(1, 450) n`,
  );
  await database.query(
    `insert into omicron.session_events (session_id, epoch, kind, at) select id, 1, 'runner.gone', now() - interval '100 days'
       from omicron.browser_sessions, generate_series(1, 10)`,
  );
  const pruning = sqlPruning(database);
  const first = await pruning.sessions(90, null);
  expect(first).toMatchObject({ more: true, rows: { browser_sessions: 200, session_events: 2_000 } });
  expect(await prune(database)).toEqual({ session_events: 2_500, browser_sessions: 250 });
});

it('a controller removes old rows by itself and counts them', async () => {
  const database = await freshPostgres();
  await database.query(
    `insert into omicron.runners (provider, template, state, gone_at) values ('local', 't', 'gone', now() - interval '91 days')`,
  );
  await using stack = await startStack({ OMICRON_DATABASE_URL: database.url });
  await eventually('the metric', async () => {
    const { body } = await stack.call('GET', '/metrics', { token: null });
    return String(body).includes('omicron_pruned_rows_total{table="runners"} 1');
  });
  expect((await counts(database)).runners).toBeLessThan(5);
});

it.each([
  ['OMICRON_EVENTS_RETENTION_DAYS', '1'],
  ['OMICRON_SESSIONS_RETENTION_DAYS', '7'],
])('%s=%s below the longest lease and its uploads: the controller does not start', async (name, value) => {
  await using stack = await startStack();
  const environment = { ...stack.environment, OMICRON_MAX_SESSION_MINUTES: 7 * 24 * 60, [name]: value };
  expect(() => parseControllerSettings(environment)).toThrow(
    `${name} is wrong: ${value} must be 0 or at least 8: the longest lease (OMICRON_MAX_SESSION_MINUTES=10080) and a day for its uploads`,
  );
  for (const allowed of ['0', '8']) parseControllerSettings({ ...environment, [name]: allowed });
  expect(() => parseControllerSettings({ ...environment, [name]: '3651' })).toThrow(
    `${name} is wrong: must be a whole number from 0 to 3650`,
  );
});
