import { setImmediate } from 'node:timers/promises';
import { ACTS, type ActName, type Command, RACERS } from './acts.ts';
import type { ProofDatabase } from './proof-database.ts';
import type { HistoryRecord, Setup, Violation } from './record.ts';
import { judge } from './rules.ts';
import { PROVIDER, TEMPLATE, World } from './world.ts';

/** After it, nothing of an earlier history counts: places that came free, writers that may still save. */
const APART_MS = 180_000;
/** Added to the number that chooses a caller: the same user, for any number of users, with another conversation. */
const ANOTHER = 12;
/** Rounds of the loops in which everything ends; a healthy store needs one or two. */
const ROUNDS_MAX = 4;
const HOUR_MS = 3_600_000;
/** A racer that meets no lock has ended by then, on a slow machine too: time must not pass within a step that does not wait. */
const LOOKS_MAX = 10_000;

export interface Outcome {
  readonly record: HistoryRecord;
  readonly violations: readonly Violation[];
}

let lived = 0;

/** One history on this database, from nothing to the end of all that it began; and what the rules say to it. */
export async function live(database: ProofDatabase, setup: Setup, commands: readonly Command[]): Promise<Outcome> {
  const [first] = database.connections;
  if (first === undefined) throw new Error('no connection');
  await database.advance(APART_MS);
  await first.query(`select set_config('proof.step', '', false)`);
  await first.script(`delete from omicron.permits; select omicron.set_capacity(${setup.capacity})`);
  const world = new World(database, setup, `u${++lived}`);
  for (const command of commands) {
    await act(world, command);
    if (world.errors.length > 0) break;
  }
  if (world.errors.length === 0) await recover(world);
  const record = world.record(await database.changes());
  const violations = judge(record);
  if (violations.length > 0) await database.clear();
  return { record, violations };
}

async function act(world: World, { act: name, a, b }: Command): Promise<void> {
  if (name !== 'race' && name !== 'held') {
    await ACTS[name](world, world.alone(), { a, b });
    return;
  }
  const racers = racersOf(a, b);
  const release = name === 'held' ? await holdSession(world, a) : undefined;
  const contexts = await world.together(racers.length);
  let left = racers.length;
  const racing = Promise.all(
    racers.map((racer, lane) =>
      ACTS[racer.act](world, contexts[lane] as (typeof contexts)[number], racer).finally(() => left--),
    ),
  );
  if (release !== undefined) {
    await blocked(world, () => left);
    await world.database.advanceBeside(b % 2 === 0 ? 61_000 : 1_000);
    await release();
  }
  await racing;
}

/** Two acts, often of one kind, and then on one thing or by one user. */
function racersOf(a: number, b: number) {
  const actOf = (number: number) => RACERS[number % RACERS.length] as keyof typeof ACTS;
  const chosen = Math.floor(a / RACERS.length);
  const first = { act: actOf(a), a: chosen, b: chosen };
  const alike = { act: actOf(a), a: b % 2 === 0 ? chosen : chosen + 1, b: chosen + ANOTHER };
  return [first, b % 3 === 0 ? { act: actOf(b), a: b, b } : alike];
}

/** A lock on a session, as of a step that is slow: steps that meet it wait, and time passes meanwhile. */
async function holdSession(world: World, n: number): Promise<(() => Promise<void>) | undefined> {
  const lease = world.leases[n % world.leases.length];
  const holder = world.database.connections[2];
  if (lease === undefined || holder === undefined) return undefined;
  await holder.script('begin');
  await holder.query('select from omicron.browser_sessions where id = $1 for update', [lease.session]);
  return () => holder.script('commit');
}

/** Resolves once every racer waits for a lock or has ended. */
async function blocked(world: World, racing: () => number): Promise<void> {
  const { connections } = world.database;
  const pids = connections.slice(0, -1).map(({ client }) => (client as unknown as { processID: number }).processID);
  for (let looks = 0; looks < LOOKS_MAX && racing() > 0; looks++) {
    await setImmediate();
    const [row] = (await connections
      .at(-1)
      ?.query<{ waiting: number }>(
        'select count(*)::int as waiting from unnest($1::int[]) pid where cardinality(pg_blocking_pids(pid)) > 0',
        [pids],
      )) ?? [{ waiting: 0 }];
    if ((row?.waiting ?? 0) >= racing()) return;
  }
}

/** Time and loops alone, without a caller, nor an answer of any runner: everything ends. */
async function recover(world: World): Promise<void> {
  const context = world.alone();
  world.callers = [];
  world.drains = [];
  const call = <T>(work: Parameters<typeof world.call<T>>[3]) => world.call(context, 'recover', {}, work);
  for (let round = 0; round < ROUNDS_MAX && (await isAnythingOn(world)); round++) {
    await world.database.advance(round === 0 ? 2 * HOUR_MS : 60_000);
    await call(({ maintenance }) => maintenance.expire(50));
    await call(({ maintenance }) => maintenance.failStuckStarts(50));
    await call(({ fleet }) => fleet.plan(PROVIDER, TEMPLATE, 0, 0));
    const launches = await call(({ fleet }) => fleet.take(PROVIDER, 'creating', 50, 30));
    for (const { id } of launches ?? [])
      await call(({ fleet }) => fleet.markLost(id, 'not_started', 'runner_start_failed', 'It did not start.'));
    const drains = await call(({ fleet }) => fleet.take(PROVIDER, 'draining', 50, 30));
    for (const { id } of drains ?? []) await call(({ fleet }) => fleet.markGone(id));
  }
  for (const process of world.processes.values()) process.phase = 'dead';
  await world.mark(context, 'recovered', {});
}

async function isAnythingOn(world: World): Promise<boolean> {
  const [row] =
    (await world.database.connections[0]?.query<{ on: boolean }>(
      `select exists (select from omicron.runners where state <> 'gone')
           or exists (select from omicron.browser_sessions where status in ('starting', 'ready', 'hibernated')) as on`,
    )) ?? [];
  return row?.on ?? false;
}

/** The act's name and numbers, as a shrunk history shows them. */
export const describeCommand = ({ act: name, a, b }: Command): string => `${name satisfies ActName} ${a} ${b}`;
