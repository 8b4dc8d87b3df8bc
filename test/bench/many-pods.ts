import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { ENV, LABELS } from '../../contract/names.ts';
import { migrate } from '../../controller/store/migrate.ts';
import { postgresDatabase } from '../../controller/store/postgres.ts';
import { deployment } from '../controller/stack.ts';
import { type ControllerProcess, controllerCalls } from './controller-process.ts';
import { newDatabase } from './new-database.ts';
import { runnerStub, STUB_VARIABLE, warmRunners } from './runner-stub.ts';

type Stub = Awaited<ReturnType<typeof runnerStub>>;

/** Names the API server to the controller. */
export const API_VARIABLE = 'BENCH_API';

export interface LoopDelay {
  readonly p99_ms: number;
  readonly max_ms: number;
  readonly rss_mib: number;
}

/** The limit of a controller's pod. */
const LIMIT_MIB = 512;
const GROUP = `/sys/fs/cgroup/memory/omicron-bench-${process.pid}`;
const WARM = 200;
const CALLERS = 4;
const REPORTERS = 8;
const REPORTS_A_SECOND = 40;
/** The pods are listed again after 48 to 72 s. */
const WORK_MS = 75_000;

/** A session and a leased runner for each of these pods. */
const LEASED = `
  with s as (
    insert into omicron.browser_sessions (user_id, conversation_id, status, k8s_namespace, expires_at, epoch, provider, runner_id, claim_id, mcp_url,
        ttl_seconds, ends_at, options)
      select 'pod-' || id, 'c', 'ready', 'local', now() + interval '1 hour', 1, 'local', id::uuid, gen_random_uuid(), 'http://r/mcp', 7200,
             now() + interval '8 hours', '{"record_video": true}' from unnest($1::text[]) id returning id, runner_id)
  insert into omicron.runners (id, provider, template, state, boot_id, endpoint, session_id, epoch, redeemed_at, deadline_at)
    select runner_id, 'local', 'bench', 'leased', gen_random_uuid(), 'http://r', id, 1, now(), now() + interval '1 hour' from s`;
const PERMITS = `insert into omicron.permits (slot, runner_id) select row_number() over (), id from omicron.runners`;

/** Starts a program with IPC whose memory, with that of what it starts, has the limit of a controller's pod. Node.js sizes its heap by it. */
function startLimited(program: string, env: Record<string, string | undefined>): ChildProcess {
  mkdirSync(GROUP);
  writeFileSync(`${GROUP}/memory.limit_in_bytes`, String(LIMIT_MIB * 2 ** 20));
  const enter = 'echo $$ > "$0/cgroup.procs" && exec "$@"';
  return spawn('sh', ['-c', enter, GROUP, process.execPath, join(import.meta.dirname, program)], {
    env,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
}

/** Most memory that the program has taken, with its files in the cache. */
function peakMib(): number {
  return Math.round(Number(readFileSync(`${GROUP}/memory.max_usage_in_bytes`, 'utf8')) / 2 ** 20);
}

async function listedPods(api: string): Promise<string[]> {
  const answer = await fetch(`${api}/api/v1/namespaces/omicron-browser/pods`);
  const { items } = (await answer.json()) as { items: { metadata: { labels: Record<string, string> } }[] };
  return items.map(({ metadata }) => metadata.labels[LABELS.runnerId] ?? '');
}

async function ask(child: ChildProcess): Promise<LoopDelay> {
  child.send('delay');
  const [measured] = await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(() => Promise.reject(new Error('the controller has died'))),
  ]);
  return measured as LoopDelay;
}

/** Does something again and again, as many at once, until this time. */
async function repeat(untilMs: number, atOnce: number, work: (n: number) => Promise<unknown>): Promise<number> {
  let done = 0;
  const caller = async () => {
    while (performance.now() < untilMs) await work(done++);
  };
  await Promise.all(Array.from({ length: atOnce }, caller));
  return done;
}

/** Claims, ends and reports for this time; how many of each a second. */
async function putToWork(
  call: ControllerProcess['call'],
  stub: Stub,
  warm: (count: number) => Promise<void>,
  workMs: number,
) {
  const lease = async (user: string): Promise<string> => {
    const request = { user_id: user, conversation_id: 'c', record_video: false };
    return JSON.parse(await call('POST', '/internal/browser-sessions/get-or-create', request)).session_id;
  };
  await warm(WARM);
  const held = await Promise.all(Array.from({ length: REPORTERS }, (_, n) => lease(`held-${n}`)));
  while (held.some(session => !stub.leaseTokens.has(session))) await sleep(50);
  const untilMs = performance.now() + workMs;
  const claims = repeat(untilMs, CALLERS, async n => {
    await call('DELETE', `/internal/browser-sessions/${await lease(`user-${n}`)}`);
    await sleep(100);
    if (n % 20 === 0) await warm(20);
  });
  const reports = repeat(untilMs, REPORTERS, async n => {
    const session = held[n % REPORTERS] ?? '';
    await call('POST', '/internal/runner-activity', { calls: 1 }, stub.leaseTokens.get(session));
    await sleep((1_000 * REPORTERS) / REPORTS_A_SECOND);
  });
  const [claimed, reported] = await Promise.all([claims, reports]);
  const aSecond = (count: number) => Math.round((10_000 * count) / workMs) / 10;
  return { claims_per_s: aSecond(claimed), reports_per_s: aSecond(reported) };
}

/**
 * A controller with this many pods, in the memory of its own pod (a control group: root only): it starts, and works for a minute and a quarter, in
 * which it lists them again. Claims, ends and reports go on meanwhile, and pods change.
 */
export async function measurePods(serverUrl: string, pods: number, workMs = WORK_MS) {
  await using stack = new AsyncDisposableStack();
  const api = fork(join(import.meta.dirname, '../controller/runners/many-pods-api.ts'), [String(pods), '20']);
  stack.defer(() => void api.kill());
  const [port] = await once(api, 'message');
  const apiUrl = `http://127.0.0.1:${port}`;
  const databaseUrl = await newDatabase(serverUrl, 'pods');
  const database = postgresDatabase({ url: databaseUrl, connectionsMax: 1, log: pino({ level: 'silent' }) });
  stack.defer(() => database.close());
  await migrate(database);
  await database.query(LEASED, [await listedPods(apiUrl)]);
  await database.query(PERMITS);
  let url = '';
  const stub = stack.use(await runnerStub(() => url));
  const { environment } = stack.use(
    await deployment({
      [ENV.databaseUrl]: databaseUrl,
      OMICRON_CAPACITY: pods + 1_000,
      OMICRON_POOL_IDLE: 0,
      OMICRON_USER_LIMIT: 10_000,
    }),
  );
  const settings = Object.fromEntries(Object.entries(environment).map(([name, value]) => [name, String(value)]));
  const began = performance.now();
  const child = startLimited('pods.program.ts', {
    PATH: process.env.PATH,
    [STUB_VARIABLE]: stub.url,
    [API_VARIABLE]: apiUrl,
    ...settings,
  });
  const exited = once(child, 'exit');
  stack.defer(async () => {
    child.kill('SIGKILL');
    await exited;
    rmdirSync(GROUP);
  });
  const died = exited.then(() => Promise.reject(new Error('the controller did not start')));
  died.catch(() => undefined); // it ends at last
  const [started] = (await Promise.race([once(child, 'message'), died])) as [{ url: string }]; // the program's first message
  url = started.url;
  const start_s = Math.round((performance.now() - began) / 100) / 10;
  const start = await ask(child);
  child.send('reset');
  const call = controllerCalls(url, settings);
  const done = await putToWork(call, stub, count => warmRunners(database, stub.url, count), workMs);
  const work = await ask(child);
  const counts = (await (await fetch(`${apiUrl}/counts`)).json()) as { pages: number; changes: number };
  return {
    pods,
    limit_mib: LIMIT_MIB,
    peak_mib: peakMib(),
    start_s,
    start,
    work,
    lists: Math.round(counts.pages / (pods / 100)),
    pod_changes_per_s: Math.round((10_000 * counts.changes) / workMs) / 10,
    ...done,
  };
}
