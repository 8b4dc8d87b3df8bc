import { setTimeout as sleep } from 'node:timers/promises';
import { ENV } from '../../contract/names.ts';
import { problemSchema } from '../../contract/problem.ts';
import { leaseAnswer } from '../../contract/session.ts';
import { type Deployment, deployment, type Stack, startStack } from '../controller/stack.ts';
import { percentiles } from './figures.ts';

// A full fleet: two controllers on one database, runners without browsers, callers of this process.

const PLACES = 50;
const CALLERS = 1_000;
const ARRIVAL_MS = 5_000;
const HELD_MS = 3_000;
const MEASURED_MS = 30_000;
const IDLE_CALLERS = 300;
const IDLE_MS = 5_000;

export interface Fleet extends AsyncDisposable {
  readonly stacks: readonly [Stack, Stack];
  readonly shared: Deployment;
}

/** Two controllers on one database, with `places` runners at most. */
export async function fleet(
  databaseUrl: string,
  places: number,
  settings: Record<string, unknown> = {},
): Promise<Fleet> {
  const shared = await deployment({
    [ENV.databaseUrl]: databaseUrl,
    OMICRON_CAPACITY: places,
    OMICRON_POOL_IDLE: 0,
    OMICRON_USER_LIMIT: 10_000,
    ...settings,
  });
  const stacks = [await startStack({}, shared), await startStack({}, shared)] as const;
  return {
    stacks,
    shared,
    async [Symbol.asyncDispose]() {
      for (const stack of stacks) await stack.stop();
      await shared[Symbol.asyncDispose]();
    },
  };
}

const end = (stack: Stack, sessionId: string) => stack.call('DELETE', `/internal/browser-sessions/${sessionId}`);

/** From the call of a lease until its place is free again, on an empty fleet; the lease ends at once. */
async function cycleMs({ stacks: [stack] }: Fleet): Promise<number> {
  const times: number[] = [];
  for (let n = 0; n < 10; n++) {
    const beganMs = performance.now();
    const { session_id } = await stack.lease({ conversation_id: `alone-${n}` });
    await end(stack, session_id);
    while ((await stack.database.query('select from omicron.permits where runner_id is not null')).length > 0)
      await sleep(2);
    times.push(performance.now() - beganMs);
  }
  return percentiles(times).p50;
}

/** One caller: when it came, and when it was served. `kept`: for each return after a Retry-After below the longest, whether it got a place. */
interface Caller {
  readonly cameMs: number;
  servedMs?: number;
  readonly kept: boolean[];
}

const RETRY_MAX_SECONDS = 30;

async function call(stack: Stack, n: number, waitSeconds: number, untilMs: number): Promise<Caller> {
  const caller: Caller = { cameMs: performance.now(), kept: [] };
  for (let told: number | undefined; performance.now() < untilMs; ) {
    const answer = await stack.getOrCreate({ conversation_id: `c${n}`, wait_seconds: waitSeconds }).catch(() => null);
    if (answer === null) break; // the fleet stops
    const served = answer.status < 300; // 202: it has its place, and the browser starts
    if (told !== undefined && told < RETRY_MAX_SECONDS) caller.kept.push(served);
    if (served) {
      caller.servedMs = performance.now();
      await sleep(HELD_MS);
      await end(stack, leaseAnswer.parse(answer.body).session_id).catch(() => {});
      break;
    }
    told = problemSchema.parse(answer.body).retry_after_seconds ?? 1;
    await sleep(told * 1_000);
  }
  return caller;
}

/** Share of pairs of callers of which the later was served before the earlier. */
function outOfOrder(callers: readonly Caller[]): number {
  const served = (each: Caller) => each.servedMs ?? Number.POSITIVE_INFINITY;
  const inOrder = callers.toSorted((a, b) => a.cameMs - b.cameMs);
  let overtaken = 0;
  inOrder.forEach((early, index) => {
    for (const late of inOrder.slice(index + 1)) if (served(late) < served(early)) overtaken += 1;
  });
  return overtaken / ((callers.length * (callers.length - 1)) / 2);
}

/** Times of a call that is repeated meanwhile, sorted. */
async function timesOf(work: () => Promise<unknown>, over: AbortSignal): Promise<number[]> {
  const times: number[] = [];
  while (!over.aborted) {
    const beganMs = performance.now();
    await work();
    times.push(performance.now() - beganMs);
    await sleep(100);
  }
  return times.toSorted((a, b) => a - b);
}

const p99 = (sorted: readonly number[]) => Math.round(sorted[Math.ceil(sorted.length * 0.99) - 1] ?? Number.NaN);

/** Statements that waiting takes: of callers that wait, and of replicas for them. */
const WAITING = ['acquire', 'line_turns', 'leave_line', 'yield_leases'];

/** Statements of both replicas for a caller and second of waiting, in the middle of the run; each claim's own is not counted. */
async function statementsOfWaiting({ stacks }: Fleet, callers: Promise<Caller[]>): Promise<() => Promise<number>> {
  const counted = () => ({
    statements: WAITING.flatMap(name => stacks.map(stack => stack.queried(`omicron.${name}(`))).reduce(
      (sum, n) => sum + n,
      0,
    ),
    atMs: performance.now(),
  });
  await sleep(ARRIVAL_MS + 1_000);
  const before = counted();
  await sleep(MEASURED_MS / 2);
  const after = counted();
  return async () => {
    const all = await callers;
    const within = (ms: number) => Math.min(after.atMs, Math.max(before.atMs, ms));
    const waited =
      all.reduce((sum, each) => sum + within(each.servedMs ?? after.atMs) - within(each.cameMs), 0) / 1_000;
    const claims = all.filter(({ servedMs = 0 }) => servedMs > before.atMs && servedMs < after.atMs).length;
    return (after.statements - before.statements - claims) / waited;
  };
}

const rounded = (value: number) => Math.round(value * 1_000) / 1_000;

/** A lease on each place, as long as those that are measured: the fleet has been in use. */
async function leaseAllPlaces({ stacks: [stack] }: Fleet): Promise<void> {
  const leases = Array.from({ length: PLACES }, async (_, n) => {
    const { session_id } = await stack.lease({ conversation_id: `before-${n}` });
    await sleep(HELD_MS);
    await end(stack, session_id);
  });
  await Promise.all(leases);
}

/** 1,000 callers on 50 places, which either wait at the controller or obey its Retry-After. */
export async function measureOverload(databaseUrl: string, waitSeconds: number) {
  await using full = await fleet(databaseUrl, PLACES + 1);
  const { stacks } = full;
  const cycle = await cycleMs(full);
  // those leases lasted milliseconds: no estimate of a wait may count them
  await stacks[0].database.query(
    `update omicron.runners set gone_at = gone_at - interval '1 hour' where state = 'gone'`,
  );
  await leaseAllPlaces(full);
  const { session_id } = await stacks[0].lease({ conversation_id: 'held' });
  const over = new AbortController();
  const { runner } = await full.shared.machine.leased(session_id);
  const beats = timesOf(
    () => stacks[0].call('POST', `/internal/browser-sessions/${session_id}/heartbeat`, { body: {} }),
    over.signal,
  );
  const reports = timesOf(async () => {
    const { ok, status } = await runner.report('runner-activity', { calls: 1 });
    if (!ok) throw new Error(`a report was answered ${status}`);
  }, over.signal);
  for (const times of [beats, reports]) times.catch(() => {}); // read at the end
  const untilMs = performance.now() + MEASURED_MS;
  const calls = Array.from({ length: CALLERS }, async (_, n) => {
    await sleep((n * ARRIVAL_MS) / CALLERS);
    return call(stacks[n % 2 === 0 ? 0 : 1], n, waitSeconds, untilMs);
  });
  const waiting = await statementsOfWaiting(full, Promise.all(calls));
  const callers = await Promise.all(calls);
  over.abort();
  const inTime = callers.map(each => ((each.servedMs ?? 0) > untilMs ? { cameMs: each.cameMs, kept: [] } : each));
  const kept = callers.flatMap(each => each.kept);
  return {
    ideal: Math.floor((PLACES * MEASURED_MS) / (HELD_MS + cycle)),
    served: inTime.filter(each => each.servedMs !== undefined).length,
    out_of_order: rounded(outOfOrder(inTime)),
    retry_after_kept: kept.length === 0 ? null : rounded(kept.filter(Boolean).length / kept.length),
    heartbeat_p99_ms: p99(await beats),
    report_p99_ms: p99(await reports),
    statements_a_caller_second: rounded(await waiting()),
    cycle_ms: Math.round(cycle),
  };
}

/** 300 callers on 50 sessions that were released and are hibernated to make room: how many have a place after 5 s. */
export async function measureHibernation(databaseUrl: string) {
  await using full = await fleet(databaseUrl, PLACES);
  const [first, second] = full.stacks;
  for (let n = 0; n < PLACES; n++) {
    const { session_id } = await first.lease({ conversation_id: `idle-${n}`, hibernate: 'expiry' });
    await first.call('POST', `/internal/browser-sessions/${session_id}/release`);
  }
  const idle = [...full.shared.machine.runners.values()];
  let served = 0;
  const calls = Array.from({ length: IDLE_CALLERS }, async (_, n) => {
    const stack = n % 2 === 0 ? first : second;
    const { status } = await stack.getOrCreate({ conversation_id: `c${n}`, wait_seconds: IDLE_MS / 1_000 });
    if (status === 200) served += 1;
  });
  await Promise.all(calls);
  return { callers: IDLE_CALLERS, served, orders: idle.reduce((sum, { hibernations }) => sum + hibernations, 0) };
}
