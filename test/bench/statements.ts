import pg from 'pg';
import { pino } from 'pino';
import type { Database } from '../../controller/ports/database.ts';
import { sqlDirectory } from '../../controller/store/directory.ts';
import { sqlEgressLeases } from '../../controller/store/egress-leases.ts';
import { migrate } from '../../controller/store/migrate.ts';
import { postgresDatabase } from '../../controller/store/postgres.ts';
import { type Pruned, sqlPruning } from '../../controller/store/pruning.ts';
import { sqlUsage } from '../../controller/store/usage.ts';
import { sqlUserActions } from '../../controller/store/user-actions.ts';
import { protocol } from '../controller/protocol.ts';
import { processStat } from '../process-stat.ts';
import { percentiles, ratio } from './figures.ts';
import { measureGrowth } from './growth.ts';

const ROUNDS = 51;
const WRITES = 5_000;
const REPORTS = 40_000;
const BATCHES = 5;

const TABLES = ['session_events', 'browser_sessions', 'runners', 'artifacts', 'user_actions', 'permits'] as const;

interface Rows {
  readonly ended: number;
  readonly live: number;
}

/** Ended sessions with runners and an unread user action each, and live ones. */
async function fill(url: string, { ended, live }: Rows): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  await client.query(`
    begin;
    set local session_replication_role = replica;
    with s as (
      insert into omicron.browser_sessions (user_id, conversation_id, status, k8s_namespace, created_at, expires_at, epoch, provider, runner_id,
          ttl_seconds, ends_at, ended_reason, options, tags)
        select 'ended-' || n / 20, 'c' || n, 'ended', 'local', now() - make_interval(secs => n * 8 + 86400), now() - make_interval(secs => n * 8), 1,
               'local', gen_random_uuid(), 300, now(), 'released', '{"record_video": true}', jsonb_build_object('team', 't' || n % 50)
          from generate_series(1, ${ended}) n returning id, runner_id, created_at
    ), a as (
      insert into omicron.user_actions (id, session_id, epoch, reason, created_at, expires_at)
        select gen_random_uuid(), id, 1, 'Please solve the captcha', created_at, created_at + interval '10 minutes' from s
    )
    insert into omicron.runners (id, provider, template, state, session_id, epoch, redeemed_at, created_at, draining_at, gone_at)
      select runner_id, 'local', 't1', 'gone', id, 1, created_at, created_at, created_at, created_at from s;
    insert into omicron.artifacts (session_id, epoch, runner_id, name, state, uri, bytes, created_at)
      select id, 1, runner_id, 'v', case when n % 2 = 0 then 'stored' else 'expired' end, 'file:///v', 1, created_at
        from (select *, row_number() over () as n from omicron.browser_sessions) s;
    insert into omicron.session_events (session_id, epoch, at, kind)
      select id, 1, created_at, 'tool.call' from (select * from omicron.browser_sessions order by created_at limit 5000) s, generate_series(1, 4);
    insert into omicron.runners (provider, template, state, created_at, draining_at, gone_at)
      select 'local', 't1', 'gone', at, at, at from generate_series(1, 5000) n, lateral (select now() - interval '2 days' as at) made;
    with s as (
      insert into omicron.browser_sessions (user_id, conversation_id, status, k8s_namespace, expires_at, due_at, epoch, provider, runner_id, claim_id,
          mcp_url, ttl_seconds, ends_at, options, tags)
        select 'live-' || n, 'c', 'ready', 'local', now() + interval '1 hour', now() + interval '1 hour', 1, 'local', gen_random_uuid(), gen_random_uuid(), 'http://r/mcp',
               7200, now() + interval '8 hours', '{"record_video": true}', '{"live": "yes"}' from generate_series(1, ${live}) n returning id, runner_id
    )
    insert into omicron.runners (id, provider, template, state, boot_id, endpoint, session_id, epoch, redeemed_at, deadline_at)
      select runner_id, 'local', 't1', 'leased', gen_random_uuid(), 'http://r', id, 1, now(), now() + interval '1 hour' from s;
    insert into omicron.permits (slot, runner_id) select 100000 + row_number() over (), id from omicron.runners where state = 'leased' and endpoint = 'http://r';
    commit;`);
  for (const table of TABLES) await client.query(`vacuum (analyze) omicron.${table}`);
  await client.end();
}

const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();

/** CPU time of the connection's own process, in ms. */
async function cpuOf(database: Database): Promise<number> {
  const [row] = await database.query<{ pid: number }>('select pg_backend_pid() as pid');
  const stat = processStat(row?.pid ?? 0);
  if (stat === undefined) throw new Error('the process of the connection has ended');
  return stat.cpu * 1_000;
}

/** One read, again and again: its median and its CPU. On a machine with other work the CPU compares. */
async function reads(database: Database, work: () => Promise<unknown>) {
  const times: number[] = [];
  const before = await cpuOf(database);
  for (let n = 0; n < ROUNDS; n++) {
    const beganMs = performance.now();
    await work();
    times.push(performance.now() - beganMs);
  }
  return {
    p50_ms: percentiles(times).p50,
    cpu_ms: Math.round((10 * ((await cpuOf(database)) - before)) / ROUNDS) / 10,
  };
}

/** Many writes of one kind: their CPU and WAL each, and the share of updates of sessions and runners that wrote to no index. */
async function writes(database: Database, work: (n: number) => Promise<unknown>) {
  const counted = async () => {
    await database.query('select pg_stat_force_next_flush()');
    const [row] = await database.query<{ hot: number; updates: number; wal: number }>(
      `select sum(n_tup_hot_upd)::int as hot, sum(n_tup_upd)::int as updates, (pg_current_wal_insert_lsn() - '0/0')::float8 as wal
         from pg_stat_user_tables where relname in ('browser_sessions', 'runners')`,
    );
    return row ?? { hot: 0, updates: 0, wal: 0 };
  };
  const before = { ...(await counted()), cpu: await cpuOf(database) };
  for (let n = 0; n < WRITES; n++) await work(n);
  const after = { ...(await counted()), cpu: await cpuOf(database) };
  return {
    hot_percent: Math.round((100 * (after.hot - before.hot)) / (after.updates - before.updates)),
    wal_bytes: Math.round((after.wal - before.wal) / WRITES),
    cpu_ms: (after.cpu - before.cpu) / WRITES,
  };
}

/** Reads after many reports: with a transaction open meanwhile (a dump), and without, as a ratio of the medians. */
async function openTransaction(
  url: string,
  report: (n: number) => Promise<unknown>,
  paths: Readonly<Record<string, () => Promise<unknown>>>,
): Promise<Record<string, number>> {
  const medians = async (): Promise<Record<string, number>> => {
    for (let n = 0; n < REPORTS; n++) await report(n);
    const times: Record<string, number> = {};
    for (const [name, read] of Object.entries(paths)) {
      const rounds: number[] = [];
      for (let n = 0; n < ROUNDS; n++) {
        const beganMs = performance.now();
        await read();
        rounds.push(performance.now() - beganMs);
      }
      times[name] = percentiles(rounds).p50;
    }
    return times;
  };
  const without = await medians();
  const client = new pg.Client(url);
  await client.connect();
  await client.query('begin isolation level repeatable read');
  await client.query('select from omicron.browser_sessions limit 1');
  const within = await medians();
  await client.end();
  return Object.fromEntries(Object.keys(paths).map(name => [name, ratio(within[name] ?? 0, without[name] ?? 0)]));
}

/** Longest of some batches of what is removed with time, in ms. */
async function batches(database: Database, expired: () => Promise<unknown>): Promise<Record<string, number>> {
  const pruning = sqlPruning(database);
  const longest = async (step: (after: unknown) => Promise<unknown>) => {
    let [longestMs, after]: [number, unknown] = [0, null];
    for (let n = 0; n < BATCHES; n++) {
      const beganMs = performance.now();
      const answer = (await step(after)) as Pruned | readonly unknown[];
      longestMs = Math.max(longestMs, performance.now() - beganMs);
      after = answer !== null && 'after' in answer ? answer.after : null;
    }
    return Math.round(longestMs);
  };
  return {
    expired_artifacts: await longest(expired),
    events: await longest(after => pruning.events(1, after)),
    sessions: await longest(after => pruning.sessions(1, after)),
    runners: await longest(() => pruning.runners(1)),
  };
}

/** Costs of single statements. */
export async function measureStatements(serverUrl: string, rows: Rows) {
  const url = `${serverUrl}/postgres`;
  const database = postgresDatabase({ url, connectionsMax: 1, log: pino({ level: 'silent' }) });
  await migrate(database);
  const grown = await measureGrowth(database);
  await fill(url, rows);
  const directory = sqlDirectory(database);
  const actions = sqlUserActions(database);
  const live = await database.query<{ id: string; runner_id: string }>(
    `select id, runner_id from omicron.browser_sessions where status = 'ready' and mcp_url = 'http://r/mcp' order by id`,
  );
  const at = (n: number) => live[(n * 7) % live.length] ?? { id: '', runner_id: '' };
  const list = { limit: 50, archived: false } as const;
  const p = protocol(database);
  const report = (n: number) =>
    p.broker.reportActivity({ session_id: at(n).id, epoch: 1, runner_id: at(n).runner_id }, 1);
  const section = {
    rows,
    list_ready: await reads(database, () => directory.list({ ...list, status: 'ready' })),
    list_ready_tag: await reads(database, () => directory.list({ ...list, status: 'ready', tag: { live: 'yes' } })),
    list_tag: await reads(database, () => directory.list({ ...list, tag: { team: 't7' } })),
    pending_user_actions: await reads(database, () => actions.pending(null)),
    expire: await reads(database, () => p.maintenance.expire(200)),
    stats: await reads(database, () => directory.stats()),
    usage_5_days: await reads(database, () => sqlUsage(database).report({ by: 'user', limit: 50, since: daysAgo(5) })),
    heartbeat: await writes(database, n => p.leases.heartbeat(at(n).id, null, null)),
    report: await writes(database, report),
    open_transaction_ratio: await openTransaction(url, report, {
      list_ready: () => directory.list({ ...list, status: 'ready' }),
      stats: () => directory.stats(),
      held: () => p.fleet.held(),
      expire: () => p.maintenance.expire(200),
      held_leases: () => sqlEgressLeases(database).held(),
    }),
    batch_ms_max: await batches(database, () => p.maintenance.expiredArtifacts({ videos: 1, pages: 1 }, 200, null)),
    growth_mb_per_1000: grown,
  };
  await database.close();
  return section;
}
