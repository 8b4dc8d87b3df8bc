import { fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { EGRESS_ROUTES, WATCH_LEASES_MAX } from '../../contract/egress.ts';
import { AUDIENCES } from '../../contract/names.ts';
import { OmicronError } from '../../contract/problem.ts';
import { serviceKey, signServiceToken } from '../../contract/tokens.ts';
import { USER_ACTION_WAIT_MS_MAX } from '../../contract/user-action.ts';
import { sqlDirectory } from '../../controller/store/directory.ts';
import { protocol } from '../controller/protocol.ts';
import type { Stack } from '../controller/stack.ts';
import type { AgentsOrder } from './agents.program.ts';
import { percentiles } from './figures.ts';
import { type Fleet, fleet } from './overload.ts';
import { serverCpu } from './postgres-cpu.ts';

// Many live sessions on two controllers of this process, with runners without browsers, which have a server each.

const AT_ONCE = 16;
const ROUNDS = 21;
const REST_MS = 10_000;
const PROXIES = 2;
const WATCH_MS = 4_000;
const ENDS_A_SECOND = 8;
const AGENTS = 500;
const AGENT_WAIT_MS = USER_ACTION_WAIT_MS_MAX; // as runners do
const HIBERNATED = 400;
const STARTS = 1_000;
const START_MS = 5_000;
const ONE_FAILS_OF = 100;

const rounded = (value: number) => Math.round(value * 1_000) / 1_000;

/** Runs work for each number below `count`, sixteen at once. */
async function inTurns(count: number, work: (n: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const take = async () => {
    for (let n = next++; n < count; n = next++) await work(n);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, take));
}

async function medianMs(work: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let n = 0; n < ROUNDS; n++) {
    const beganMs = performance.now();
    await work();
    times.push(performance.now() - beganMs);
  }
  return percentiles(times).p50;
}

/** Watches leases at the controller as an egress proxy does, until `stopped`. `onEnd`: a lease is known to have ended. */
async function watch(
  stack: Stack,
  leases: readonly { readonly runner_id: string; readonly session_id: string }[],
  onEnd: (sessionId: string) => void,
  stopped: AbortSignal,
): Promise<void> {
  const key = serviceKey(String(stack.environment.OMICRON_EGRESS_JWT_SECRET));
  let known = leases.map(each => ({ ...each, version: '' }));
  while (!stopped.aborted) {
    const token = await signServiceToken(key, undefined, AUDIENCES.egress);
    const answer = await stack.call('POST', EGRESS_ROUTES.watch, { token, body: { wait_ms: WATCH_MS, leases: known } });
    if (answer.status !== 200) throw new Error(`watch: ${answer.status} ${JSON.stringify(answer.body)}`);
    const { leases: told } = answer.body as {
      leases: { state: string; runner_id: string; grant?: { version: string } }[];
    };
    const of = new Map(told.map(each => [each.runner_id, each]));
    known = known.flatMap(each => {
      const { state, grant } = of.get(each.runner_id) ?? { state: 'ended', grant: undefined };
      if (state === 'ended') onEnd(each.session_id);
      return state === 'ended' ? [] : [{ ...each, version: grant?.version ?? each.version }];
    });
  }
}

/** Postgres cores while leases end, eight a second. `onEnded`: a DELETE was answered. */
async function coresOfEnds(
  { stacks: [stack] }: Fleet,
  sessions: readonly string[],
  onEnded: (sessionId: string) => void = () => {},
): Promise<number> {
  const before = await serverCpu(stack.database);
  const beganMs = performance.now();
  for (const id of sessions) {
    void stack.call('DELETE', `/internal/browser-sessions/${id}`).then(() => onEnded(id));
    await sleep(1_000 / ENDS_A_SECOND);
  }
  await sleep(1_000);
  return ((await serverCpu(stack.database)) - before) / ((performance.now() - beganMs) / 1_000);
}

async function egressWatch(full: Fleet, ended: readonly string[]) {
  const [stack] = full.stacks;
  const half = ended.length / 2;
  const alone = await coresOfEnds(full, ended.slice(0, half));
  const keys = await stack.database.query<{ runner_id: string; session_id: string }>(
    `select session_id, epoch, id as runner_id, 'browser' as client from omicron.runners where state = 'leased'`,
  );
  const stopped = new AbortController();
  const endedMs = new Map<string, number>();
  const knownAfterMs: number[] = [];
  const onEnd = (id: string) => {
    // known before the DELETE was answered: 0
    knownAfterMs.push(performance.now() - (endedMs.get(id) ?? performance.now()));
  };
  const watches = Array.from({ length: PROXIES }, () =>
    Array.from({ length: Math.ceil(keys.length / WATCH_LEASES_MAX) }, (_, n) =>
      watch(stack, keys.slice(n * WATCH_LEASES_MAX, (n + 1) * WATCH_LEASES_MAX), onEnd, stopped.signal),
    ),
  ).flat();
  await sleep(3_000); // each knows the versions now
  const watched = await coresOfEnds(full, ended.slice(half), id => endedMs.set(id, performance.now()));
  stopped.abort();
  await Promise.all(watches);
  return {
    egress_watch_cores: rounded(watched - alone),
    egress_end_known_ms: { p50: percentiles(knownAfterMs).p50, max: Math.round(Math.max(...knownAfterMs)) },
  };
}

/** Cores of agents that wait for a person, beyond those of a rest: of Postgres, and of both controllers; the agents are another process. */
async function waitingAgents({ stacks: [stack], shared }: Fleet, sessions: readonly string[]) {
  const cores = async () => {
    const [postgres, own, beganMs] = [await serverCpu(stack.database), process.cpuUsage(), performance.now()];
    await sleep(REST_MS);
    const [seconds, used] = [(performance.now() - beganMs) / 1_000, process.cpuUsage(own)];
    return {
      postgres: ((await serverCpu(stack.database)) - postgres) / seconds,
      controllers: (used.user + used.system) / 1e6 / seconds,
    };
  };
  const rest = await cores();
  const agents = await Promise.all(
    sessions.map(async session => ({
      token: (await shared.machine.leased(session)).given.lease_token,
      id: randomUUID(),
    })),
  );
  const child = fork(join(import.meta.dirname, 'agents.program.ts'));
  const exited = once(child, 'exit');
  child.send({ url: stack.url, waitMs: AGENT_WAIT_MS, agents } satisfies AgentsOrder);
  await sleep(AGENT_WAIT_MS + 2_000);
  const waiting = await cores();
  const [asked] = await stack.database.query<{ pending: number }>(
    `select count(*)::int as pending from omicron.user_actions where status = 'pending'`,
  );
  child.send('over');
  await stack.database.query(`update omicron.user_actions set status = 'done', answered_at = now()`);
  const [code] = await exited;
  if (code !== 0 || asked?.pending !== sessions.length)
    throw new Error(`${asked?.pending} of ${sessions.length} agents waited; their process exited with ${code}`);
  return {
    postgres: rounded(waiting.postgres - rest.postgres),
    controllers: rounded(waiting.controllers - rest.controllers),
  };
}

/** Sessions that are about to expire, all at once: how many are hibernated a second by two replicas. */
async function hibernationsASecond({ stacks: [stack] }: Fleet): Promise<number> {
  await stack.database.query(
    `with chosen as (select id from omicron.browser_sessions where status = 'ready' order by id limit ${HIBERNATED})
     update omicron.browser_sessions set options = options || '{"hibernate": "expiry"}', last_used_at = now() - interval '10 minutes',
            expires_at = clock_timestamp() + interval '28 seconds' where id in (select id from chosen)`,
  );
  const beganMs = performance.now();
  for (;;) {
    const [row] = await stack.database.query<{ left: number; done: number }>(
      `select count(*) filter (where status = 'ready' and options ->> 'hibernate' = 'expiry')::int as left,
              count(*) filter (where status = 'hibernated')::int as done from omicron.browser_sessions`,
    );
    if (row?.left === 0) return row.done / ((performance.now() - beganMs) / 1_000);
    await sleep(50);
  }
}

/** Measures two replicas with `live` sessions. */
export async function measureLive(databaseUrl: string, live: number) {
  await using full = await fleet(databaseUrl, live, { OMICRON_REAP_SECONDS: 30 });
  const [stack] = full.stacks;
  const ids: string[] = [];
  await inTurns(live, async n => {
    const { session_id } = await (full.stacks[n % 2] ?? stack).lease({
      user_id: `u${n}`,
      conversation_id: 'c',
      ttl_seconds: 7_200,
      wait_seconds: 60,
    });
    ids.push(session_id);
  });
  await stack.database.query('analyze omicron.browser_sessions, omicron.runners');
  const p = protocol(stack.database);
  const loops = {
    held: await medianMs(() => p.fleet.held()),
    expire: await medianMs(() => p.maintenance.expire(200)),
    stuck_starts: await medianMs(() => p.maintenance.failStuckStarts(200)),
    plan: await medianMs(() => p.fleet.plan('local', 't1', 0, 0)),
    capacity: await medianMs(() => p.maintenance.setCapacity(live)),
  };
  const directory = sqlDirectory(stack.database);
  const list_ready_ms = await medianMs(() => directory.list({ limit: 50, archived: false, status: 'ready' }));
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  await sleep(REST_MS);
  delay.disable();
  return {
    live,
    list_ready_ms,
    loop_ms_max: Math.max(...Object.values(loops)),
    loops,
    loop_delay_ms_max: Math.round(delay.max / 1e6),
    loop_delay_ms_p99: Math.round(delay.percentile(99) / 1e6),
    ...(await egressWatch(full, ids.slice(0, 16 * ENDS_A_SECOND))),
    waiting_agents_cores: await waitingAgents(full, ids.slice(-AGENTS)),
    hibernations_per_s: rounded(await hibernationsASecond(full)),
  };
}

/** 1,000 callers at an empty fleet, whose runners take 5 s to start, and one of a hundred of which cannot. */
export async function measureBurst(databaseUrl: string) {
  await using full = await fleet(databaseUrl, STARTS, { OMICRON_LAUNCHES_MAX: 64, OMICRON_START_ATTEMPTS: 1 });
  const { machine } = full.shared;
  machine.warmMs = START_MS;
  for (let n = 0; n < STARTS / ONE_FAILS_OF; n++)
    machine.failNext(new OmicronError('runner_start_failed', 'The disk is full.'));
  const beganMs = performance.now();
  let started = 0;
  const failures: Record<string, number> = {};
  const calls = Array.from({ length: STARTS }, async (_, n) => {
    const stack = full.stacks[n % 2] ?? full.stacks[0];
    const ask = () => stack.getOrCreate({ user_id: `u${n}`, conversation_id: 'c', wait_seconds: 60 });
    let answer = await ask();
    while (answer.status === 202) answer = await ask();
    if (answer.status === 200) started += 1;
    else {
      const { code = String(answer.status) } = answer.body as { code?: string };
      failures[code] = (failures[code] ?? 0) + 1;
    }
  });
  await Promise.all(calls);
  const seconds = (performance.now() - beganMs) / 1_000;
  return { started, failed: STARTS - started, broken: STARTS / ONE_FAILS_OF, failures, seconds: rounded(seconds) };
}
