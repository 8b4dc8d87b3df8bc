/** Everything that can happen next in a history. A command names an act and two numbers that choose among what is there. */
import { ask, beat, comeBack, forget, go, hangUp, look, newCaller, REPLICAS } from './callers.ts';
import { SECONDS } from './record.ts';
import { hibernate, lose, newProcess, run, save, steal } from './runners.ts';
import { type Caller, type Context, PROVIDER, type Process, TEMPLATE, type World } from './world.ts';

export interface Command {
  readonly act: ActName;
  readonly a: number;
  readonly b: number;
}

type Act = (world: World, context: Context, command: Pick<Command, 'a' | 'b'>) => Promise<unknown>;

const pick = <T>(list: readonly T[], number: number): T | undefined => list[number % list.length];

/** Every tenth answer is lost. */
const isLost = (b: number): boolean => b % 10 === 9;

const CALLERS_MAX = 10;

const onCaller =
  (fits: (caller: Caller) => boolean, work: (...args: [...Parameters<Act>, Caller]) => Promise<unknown>): Act =>
  async (world, context, command) => {
    const caller = pick(world.callers.filter(fits), command.a);
    if (caller !== undefined) await work(world, context, command, caller);
  };

const onProcess =
  (fits: (process: Process) => boolean, work: (...args: [...Parameters<Act>, Process]) => Promise<unknown>): Act =>
  async (world, context, command) => {
    const process = pick([...world.processes.values()].filter(fits), command.a);
    if (process !== undefined) await work(world, context, command, process);
  };

/** A platform's request about a lease that was ever claimed, with or without its epoch. */
const onLease =
  (
    work: (world: World, context: Context, lease: World['leases'][number], epoch: number | null) => Promise<unknown>,
  ): Act =>
  async (world, context, { a, b }) => {
    const lease = pick(world.leases.toReversed(), a);
    if (lease !== undefined) await work(world, context, lease, b % 4 === 0 ? null : lease.epoch);
  };

const TICKS_MS = [300, 1_000, 1_000, 4_000, 4_000, 8_000, 16_000, 21_000, 45_000, 61_000, 130_000, 700_000];

async function takeLaunches(world: World, context: Context, replica: number): Promise<void> {
  const rows = await world.call(context, 'launch', { replica }, ({ fleet }) => fleet.take(PROVIDER, 'creating', 3, 30));
  for (const { id } of rows ?? []) if (!world.processes.has(id)) world.processes.set(id, newProcess(id));
}

async function takeDrains(world: World, context: Context, replica: number): Promise<void> {
  const rows = await world.call(context, 'drain', { replica }, ({ fleet }) => fleet.take(PROVIDER, 'draining', 3, 30));
  for (const { id } of rows ?? []) world.drains.push({ id, replica });
}

/** Orders the runner to stop, or removes it: gone once no process of it is left. */
async function removeRunner(world: World, context: Context, id: string): Promise<void> {
  const process = world.processes.get(id);
  if (process?.phase === 'open' || process?.phase === 'redeeming') {
    process.phase = 'closed';
    return;
  }
  if (process !== undefined) process.phase = 'dead';
  await world.send(context, 'gone', { runner: id }, ({ fleet }) => fleet.markGone(id));
  world.drains = world.drains.filter(each => each.id !== id);
}

const deleteLease = onLease(async (world, context, { session, user, epoch }, named) => {
  const drainSeconds = epoch % 2 === 0 ? null : SECONDS.work;
  const ended = await world.send(context, 'delete', { session, epoch: named }, ({ leases }) =>
    leases.end(session, user, named, 'released', drainSeconds),
  );
  if (ended === undefined || ended.outcome === 'superseded' || ended.outcome === 'not_found') return;
  if (ended.runner !== null) world.drains.push({ id: ended.runner.id, replica: epoch % REPLICAS });
  if (context.raced) return;
  const about = { session, epoch: named ?? ended.session.epoch };
  await world.call(context, 'mayAct', about, ({ leases }) => leases.mayAct(session, about.epoch));
});

async function makeRoom(world: World, context: Context, { b }: { b: number }): Promise<void> {
  const yielding = await world.call(context, 'yielding', {}, ({ leases }) => leases.yielding(PROVIDER, TEMPLATE, 3));
  const chosen = pick(yielding ?? [], b);
  if (chosen === undefined) return;
  const process = [...world.processes.values()].find(
    ({ job, phase }) => phase === 'open' && job?.session === chosen.id,
  );
  if (chosen.hibernates && process) {
    await hibernate(world, context, process, 0);
    return hibernate(world, context, process, 0);
  }
  await world.send(context, 'makeRoom', { session: chosen.id }, ({ leases }) => leases.endReleased(chosen.id));
}

function crash(world: World, replica: number): void {
  for (const caller of world.callers.filter(each => each.replica === replica && each.phase !== 'away')) {
    if (caller.place !== undefined) world.abandoned.push(caller.place);
    forget(world, caller);
  }
  world.drains = world.drains.filter(each => each.replica !== replica);
}

/** The next step of a start: of its caller, or of the runner for which it waits. */
async function goOn(world: World, context: Context, caller: Caller, b: number): Promise<void> {
  const process = world.processes.get(caller.runner ?? '');
  if (caller.phase === 'claimed' && process === undefined) return takeLaunches(world, context, caller.replica);
  const waitsFor = caller.phase === 'claimed' ? ['launching'] : caller.phase === 'sent' ? ['fresh', 'redeeming'] : [];
  if (process !== undefined && waitsFor.includes(process.phase)) return run(world, context, process, b, isLost(b));
  return go(world, context, caller, isLost(b));
}

const isStarting = ({ phase }: Caller): boolean => phase !== 'waiting' && phase !== 'away';

export const ACTS = {
  go: onCaller(isStarting, (world, context, { b }, caller) => goOn(world, context, caller, b)),
  run: onProcess(
    ({ phase }) => phase !== 'dead',
    (world, context, { b }, process) => run(world, context, process, b, isLost(b)),
  ),
  ask: async (world, context, { a, b }) => {
    if (world.callers.length >= CALLERS_MAX) return;
    const caller = newCaller(world, a, b);
    const isThere = ({ user, conversation, phase }: Caller) =>
      user === caller.user && conversation === caller.conversation && (phase === 'waiting' || phase === 'away');
    if (world.callers.some(isThere)) return; // a conversation that asks twice has one place
    world.callers.push(caller);
    await ask(world, context, caller, isLost(b));
  },
  launch: (world, context, { a }) => takeLaunches(world, context, a % REPLICAS),
  drain: (world, context, { a }) => takeDrains(world, context, a % REPLICAS),
  remove: async (world, context, { a }) => {
    const drain = pick(world.drains, a);
    if (drain !== undefined) await removeRunner(world, context, drain.id);
  },
  look: (world, context) => look(world, context),
  comeBack: onCaller(
    ({ phase }) => phase === 'away',
    (world, context, { b }, caller) => comeBack(world, context, caller, b % 2 === 0),
  ),
  hangUp: onCaller(
    ({ phase }) => phase === 'waiting',
    (world, context, { b }, caller) => hangUp(world, context, caller, b % 2 === 0),
  ),
  tick: (world, _, { a }) => world.database.advance(pick(TICKS_MS, a) ?? 0),
  beat: onCaller(isStarting, (world, context, _, caller) => beat(world, context, caller)),
  heartbeat: onLease((world, context, { session, user }, named) =>
    world.send(context, 'heartbeat', { session, epoch: named }, ({ leases }) => leases.heartbeat(session, user, named)),
  ),
  delete: deleteLease,
  release: onLease((world, context, { session, user }, named) =>
    world.send(context, 'release', { session, epoch: named }, ({ leases }) => leases.release(session, user, named)),
  ),
  makeRoom,
  expire: (world, context) => world.call(context, 'expire', {}, ({ maintenance }) => maintenance.expire(10)),
  stuck: (world, context) => world.call(context, 'stuck', {}, ({ maintenance }) => maintenance.failStuckStarts(10)),
  // while a new size rolls out, two replicas have different ones
  pool: (world, context, { a }) => {
    const idle = a % 4 === 0 ? 0 : world.setup.idle;
    return world.call(context, 'pool', { idle }, ({ fleet }) => fleet.plan(PROVIDER, TEMPLATE, idle, 2));
  },
  die: onProcess(
    ({ phase }) => phase !== 'dead' && phase !== 'launching',
    async (_, __, ___, process) => {
      process.phase = 'dead';
    },
  ),
  lose: onProcess(
    () => true,
    (world, context, _, process) => lose(world, context, process),
  ),
  steal: onProcess(
    ({ job }) => job !== null,
    (world, context, _, process) => steal(world, context, process),
  ),
  save: onProcess(
    ({ profileId }) => profileId !== null,
    (world, context, _, process) => save(world, context, process),
  ),
  hibernate: async (world, context, { a, b }) => {
    const open = [...world.processes.values()].filter(({ phase }) => phase === 'open');
    const process =
      pick(
        open.filter(({ saving }) => saving !== null),
        a,
      ) ?? pick(open, a);
    if (process === undefined) return;
    await hibernate(world, context, process, b);
    if (b % 2 === 0 && process.saving !== null) await hibernate(world, context, process, b);
  },
  wake: async (world, context, { a, b }) => {
    const asleep = pick(world.asleep.toReversed(), b % 3);
    if (asleep === undefined || world.callers.length >= CALLERS_MAX) return;
    const caller = { ...newCaller(world, a, b), ...asleep, switches: false };
    world.callers.push(caller);
    await ask(world, context, caller, false);
  },
  again: async (world, context, { a }) => pick(world.sent.toReversed(), a)?.(context),
  crash: async (world, _, { a }) => crash(world, a % REPLICAS),
} satisfies Record<string, Act>;

export type ActName = keyof typeof ACTS | 'race' | 'held';

/** How often each comes, in a thousand or so. */
export const WEIGHTS: Readonly<Record<ActName, number>> = {
  ...{ go: 330, run: 170, ask: 110, launch: 30, drain: 35, remove: 60, look: 45, comeBack: 30, hangUp: 10, tick: 70 },
  ...{ beat: 15, heartbeat: 15, delete: 22, release: 18, makeRoom: 12, expire: 30, stuck: 10, pool: 30, die: 8 },
  ...{ lose: 20, save: 25, steal: 8, hibernate: 75, wake: 30, again: 30, crash: 10, race: 40, held: 12 },
};

/** Acts of one call or two, which may run beside another one. */
export const RACERS = [
  ...([
    'go',
    'run',
    'ask',
    'ask',
    'heartbeat',
    'delete',
    'release',
    'expire',
    'stuck',
    'pool',
    'beat',
    'lose',
  ] as const),
  ...(['comeBack', 'launch', 'again'] as const),
];
