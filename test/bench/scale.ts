/**
 * Cost of single statements at size, and a full fleet: `npm run bench -- scale [--ended 100000] [--live 5000] [--only statements|overload|live]`;
 * `--traced` measures what tracing costs alone, into section `trust`. Real Postgres, one connection, the store's own code;
 * nothing else runs. Writes section `scale` of `.omicron/bench.json`: medians in ms, CPU of the connection's process in ms an operation, the HOT share
 * and WAL of reports and heartbeats, and the growth of each table by 1,000 sessions.
 */
import { randomUUID } from 'node:crypto';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { pino } from 'pino';
import type { Database } from '../../controller/ports/database.ts';
import { sqlDirectory } from '../../controller/store/directory.ts';
import { migrate } from '../../controller/store/migrate.ts';
import { postgresDatabase } from '../../controller/store/postgres.ts';
import { sqlUsage } from '../../controller/store/usage.ts';
import { sqlUserActions } from '../../controller/store/user-actions.ts';
import { protocol } from '../controller/protocol.ts';
import { startPostgresServer } from '../postgres-server.ts';
import { processStat } from '../process-stat.ts';
import { machine, percentiles, readSection, writeSections } from './figures.ts';
import { measureBurst, measureLive } from './live-sessions.ts';
import { newDatabase } from './new-database.ts';
import { measureHibernation, measureOverload } from './overload.ts';
import { measureTraced } from './traced.ts';

const { values } = parseArgs({
  options: {
    ended: { type: 'string', default: '100000' },
    live: { type: 'string', default: '5000' },
    only: { type: 'string' },
    traced: { type: 'boolean', default: false },
  },
});
const ENDED = Number(values.ended);
const LIVE = Number(values.live);
const ROUNDS = 51;
const WRITES = 5_000;
const GROWN = 1_000;
const EVENTS = 14;

const TABLES = ['session_events', 'browser_sessions', 'runners', 'artifacts', 'user_actions'] as const;

/** Ended sessions with runners and an unread user action each, and live ones. */
async function fill(url: string): Promise<void> {
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
          from generate_series(1, ${ENDED}) n returning id, runner_id, created_at
    ), a as (
      insert into omicron.user_actions (id, session_id, epoch, reason, created_at, expires_at)
        select gen_random_uuid(), id, 1, 'Please solve the captcha', created_at, created_at + interval '10 minutes' from s
    )
    insert into omicron.runners (id, provider, template, state, session_id, epoch, redeemed_at, created_at, draining_at, gone_at)
      select runner_id, 'local', 't1', 'gone', id, 1, created_at, created_at, created_at, created_at from s;
    with s as (
      insert into omicron.browser_sessions (user_id, conversation_id, status, k8s_namespace, expires_at, epoch, provider, runner_id, claim_id, mcp_url,
          ttl_seconds, ends_at, options, tags)
        select 'live-' || n, 'c', 'ready', 'local', now() + interval '1 hour', 1, 'local', gen_random_uuid(), gen_random_uuid(), 'http://r/mcp',
               7200, now() + interval '8 hours', '{"record_video": true}', '{"live": "yes"}' from generate_series(1, ${LIVE}) n returning id, runner_id
    )
    insert into omicron.runners (id, provider, template, state, boot_id, endpoint, session_id, epoch, redeemed_at, deadline_at)
      select runner_id, 'local', 't1', 'leased', gen_random_uuid(), 'http://r', id, 1, now(), now() + interval '1 hour' from s;
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

/** Megabytes that 1,000 whole sessions add to each table, with its indexes. */
async function growth(database: Database): Promise<Record<string, number>> {
  const p = protocol(database, { userLimit: GROWN * 2 });
  const sizes = async () => {
    const rows = await database.query<{ name: string; bytes: number }>(
      `select relname as name, pg_total_relation_size(relid)::float8 as bytes from pg_stat_user_tables where schemaname = 'omicron'`,
    );
    return Object.fromEntries(rows.map(({ name, bytes }) => [name, bytes]));
  };
  const before = await sizes();
  for (let n = 0; n < GROWN; n++) {
    await p.warm(1);
    const leased = await p.lease({ userId: `grown-${n}` });
    const lease = p.leaseOf(leased);
    const events = Array.from({ length: EVENTS - 4 }, () => ({
      id: randomUUID(),
      age_ms: 0,
      kind: 'tool.call',
      data: { tool: 'browser_navigate', ms: 120, url: 'https://shop.example/some/path/that/is/usual', outcome: 'ok' },
    }));
    await database.query('select omicron.write_events($1, 1, $2, $3)', [
      lease.session_id,
      lease.runner_id,
      JSON.stringify(events),
    ]);
    await database.query(`select omicron.ask_user($1, 1, $2, gen_random_uuid(), 'Please solve the captcha', 60)`, [
      lease.session_id,
      lease.runner_id,
    ]);
    await p.leases.end(lease.session_id, null, null, 'released');
    await p.fleet.markGone(lease.runner_id);
  }
  const after = await sizes();
  return Object.fromEntries(
    TABLES.map(table => [table, Math.round(((after[table] ?? 0) - (before[table] ?? 0)) / 2 ** 14) / 64]),
  );
}

/** A full fleet, on databases of their own. */
async function fullFleet(serverUrl: string) {
  return {
    overload: await measureOverload(await newDatabase(serverUrl, 'waiting'), 30),
    overload_obeying: await measureOverload(await newDatabase(serverUrl, 'obeying'), 0),
    hibernation: await measureHibernation(await newDatabase(serverUrl, 'hibernating')),
  };
}

/** Many live sessions, and a burst of starts, on databases of their own. */
async function liveSessions(serverUrl: string) {
  return {
    live_5000: await measureLive(await newDatabase(serverUrl, 'live'), LIVE),
    burst_1000: await measureBurst(await newDatabase(serverUrl, 'burst')),
  };
}

/** Costs of single statements. */
async function statements(serverUrl: string) {
  const url = `${serverUrl}/postgres`;
  const database = postgresDatabase({
    url,
    connectionsMax: 1,
    log: pino({ level: 'silent' }),
  });
  await migrate(database);
  const grown = await growth(database);
  await fill(url);
  const directory = sqlDirectory(database);
  const actions = sqlUserActions(database);
  const live = await database.query<{ id: string; runner_id: string }>(
    `select id, runner_id from omicron.browser_sessions where status = 'ready' and mcp_url = 'http://r/mcp' order by id`,
  );
  const at = (n: number) => live[(n * 7) % live.length] ?? { id: '', runner_id: '' };
  const list = { limit: 50, archived: false } as const;
  const p = protocol(database);
  const section = {
    rows: { ended: ENDED, live: LIVE },
    select: await reads(database, () => database.query('select 1')),
    list_ready: await reads(database, () => directory.list({ ...list, status: 'ready' })),
    list_ready_tag: await reads(database, () => directory.list({ ...list, status: 'ready', tag: { live: 'yes' } })),
    list_tag: await reads(database, () => directory.list({ ...list, tag: { team: 't7' } })),
    pending_user_actions: await reads(database, () => actions.pending(null)),
    expire: await reads(database, () => p.maintenance.expire(200)),
    stats: await reads(database, () => directory.stats()),
    usage_5_days: await reads(database, () => sqlUsage(database).report({ by: 'user', limit: 50, since: daysAgo(5) })),
    heartbeat: await writes(database, n => p.leases.heartbeat(at(n).id, null, null)),
    report: await writes(database, n =>
      p.broker.reportActivity({ session_id: at(n).id, epoch: 1, runner_id: at(n).runner_id }, 1),
    ),
    growth_mb_per_1000: grown,
  };
  await database.close();
  return section;
}

/** All parts, or the one that was asked for. */
async function measureParts(serverUrl: string) {
  const parts = { statements, overload: fullFleet, live: liveSessions };
  const section = {};
  for (const [name, measure] of Object.entries(parts))
    if (values.only === undefined || values.only === name) Object.assign(section, await measure(serverUrl));
  return { scale: { ...readSection('scale'), ...section, machine: machine() } };
}

const server = await startPostgresServer({ server: ['-c', 'autovacuum=off', '-c', 'synchronous_commit=off'] });
try {
  const sections = values.traced
    ? { trust: { ...readSection('trust'), ...(await measureTraced(server.url)), machine: machine() } }
    : await measureParts(server.url);
  process.stdout.write(`${JSON.stringify(sections, null, 2)}\n`);
  writeSections(sections);
} finally {
  await server.stop();
}
