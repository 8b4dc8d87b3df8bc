/** Controllers' work for callers: get-or-create in its steps, and the line. As controller/lease/get-or-create.ts and start.ts do it. */
import { randomUUID } from 'node:crypto';
import type { Acquired } from '../../controller/store/leases.ts';
import { SECONDS } from './record.ts';
import { type Caller, type Context, PROVIDER, TEMPLATE, type World } from './world.ts';

export const REPLICAS = 2;
/** Runners that one start tries. */
const ATTEMPTS = 3;

const STARTED = { mcpUrl: 'http://127.0.0.1:1/mcp', workload: null, prefix: 'p/' };

/** A new caller; its numbers choose user, conversation and wishes. */
export function newCaller(world: World, a: number, b: number): Caller {
  const { conversations } = world.setup;
  return {
    replica: a % REPLICAS,
    user: world.users[b % world.users.length] ?? '',
    conversation: `c${Math.floor(b / 7) % conversations}`,
    profile: b % 4 === 0 ? 'read-write' : b % 31 === 0 ? 'read-only' : null,
    switches: a % 13 === 0,
    waits: a % 3 !== 0,
    claim: randomUUID(),
    abandon: null,
    unhibernated: world.setup.hibernates && a % 2 === 0 ? [] : null,
    phase: 'asking',
    attempts: 1,
  };
}

/** Get-or-create asks the database. `lost`: the answer does not arrive, and the same claim asks again. */
export async function ask(world: World, context: Context, caller: Caller, lost: boolean): Promise<void> {
  const { user, conversation, claim, abandon, profile, switches, unhibernated } = caller;
  const waits = caller.waits && abandon === null;
  const about = { user, conversation, claim, abandon, switches, waits, place: caller.place };
  const asks = {
    claimId: claim,
    abandonClaimId: abandon,
    unhibernated: unhibernated === null ? null : [...unhibernated],
    provider: PROVIDER,
    template: TEMPLATE,
    namespace: 'proof',
    waits,
  };
  const request = {
    user_id: user,
    conversation_id: conversation,
    ttl_seconds: SECONDS.ttl,
    record_video: false,
    credentials: true,
    profile: profile === null ? undefined : 'work',
    profile_mode: profile ?? 'read-write',
    profile_form: 'light',
    profile_tabs: false,
    profile_switch: switches,
  } as const;
  const work = ({ store }: Pick<Context, 'store'>) => store.leases.acquire({ request, ...asks });
  const answer = await (waits ? world.call : world.send).call(world, context, 'ask', about, store => work({ store }));
  if (lost) world.abandoned.push(`of ${claim}`); // its place is held until it asks again
  if (answer === undefined || lost) return;
  await heard(world, context, caller, answer as Acquired);
}

async function heard(world: World, context: Context, caller: Caller, answer: Acquired): Promise<void> {
  const { place } = caller;
  if (answer.outcome === 'claimed') {
    const { session, runner } = answer;
    world.leases.push({ session: session.id, user: session.user_id, epoch: session.epoch });
    Object.assign(caller, {
      phase: 'claimed',
      place: undefined,
      session: session.id,
      epoch: session.epoch,
      runner: runner.id,
      assigned: runner.state === 'claimed' && runner.assigned_at !== null,
    });
    return;
  }
  caller.claim = randomUUID();
  if (answer.outcome === 'evicts') {
    caller.unhibernated = [...(caller.unhibernated ?? []), ...answer.sessions];
    return;
  }
  if (answer.outcome === 'starting') {
    caller.phase = 'asking';
    return;
  }
  if (answer.outcome === 'refused' && answer.code === 'capacity_exceeded' && caller.abandon === null) {
    caller.place = answer.place;
    caller.phase = caller.waits ? 'waiting' : 'away';
    return;
  }
  if (caller.abandon !== null) await giveUp(world, context, caller, caller.abandon);
  else if (answer.outcome === 'refused' && place !== undefined && caller.phase !== 'away')
    await leave(world, context, place, false);
  forget(world, caller);
}

export const forget = (world: World, caller: Caller): void => {
  world.callers = world.callers.filter(each => each !== caller);
};

const claimOf = (caller: Caller, claim: string) => ({
  sessionId: caller.session ?? '',
  epoch: caller.epoch ?? 0,
  claimId: claim,
});

async function giveUp(world: World, context: Context, caller: Caller, claim: string): Promise<void> {
  const about = { session: caller.session, epoch: caller.epoch, claim };
  await world.send(context, 'fail', about, ({ leases }) =>
    leases.fail(claimOf(caller, claim), 'runner_start_failed', 'no runner'),
  );
}

export async function leave(world: World, context: Context, place: string, returns: boolean): Promise<void> {
  await world.call(context, 'leave', { place, returns }, ({ leases }) => leases.leaveLine(place, returns));
}

/** The next step of a caller. */
export async function go(world: World, context: Context, caller: Caller, lost: boolean): Promise<void> {
  if (caller.phase === 'asking') return ask(world, context, caller, lost);
  if (caller.phase === 'claimed') return assign(world, context, caller, lost);
  if (caller.phase === 'sent') return finish(world, context, caller, lost);
}

/** Sends the assignment once the runner is up. */
async function assign(world: World, context: Context, caller: Caller, lost: boolean): Promise<void> {
  const process = world.processes.get(caller.runner ?? '');
  if (caller.assigned !== true) {
    if (process === undefined || process.phase === 'launching') return;
    const about = { session: caller.session, epoch: caller.epoch, claim: caller.claim };
    const begun = await world.send(context, 'begin', about, ({ leases }) =>
      leases.beginAssignment(claimOf(caller, caller.claim)),
    );
    if (lost || begun === undefined) return;
    if (begun === null) return forget(world, caller); // the claim is over
  }
  if (process === undefined || context.raced) return;
  process.mail = {
    session: caller.session ?? '',
    user: caller.user,
    conversation: caller.conversation,
    epoch: caller.epoch ?? 0,
    claim: caller.claim,
    boot: process.boot,
    profile: caller.profile !== null,
  };
  caller.phase = 'sent';
}

/** The runner has answered, or it cannot. */
async function finish(world: World, context: Context, caller: Caller, lost: boolean): Promise<void> {
  const process = world.processes.get(caller.runner ?? '');
  const { job } = process ?? {};
  const serves = process?.phase === 'open' && job?.claim === caller.claim && job.epoch === caller.epoch;
  if (serves) {
    const about = { session: caller.session, epoch: caller.epoch, claim: caller.claim };
    await world.send(context, 'ready', about, ({ leases }) => leases.makeReady(claimOf(caller, caller.claim), STARTED));
    if (!lost) forget(world, caller);
    return;
  }
  if (process?.phase !== 'closed' && process?.phase !== 'dead') return;
  if (caller.attempts >= ATTEMPTS) {
    await giveUp(world, context, caller, caller.claim);
    return forget(world, caller);
  }
  Object.assign(caller, {
    phase: 'asking',
    abandon: caller.claim,
    claim: randomUUID(),
    attempts: caller.attempts + 1,
    assigned: false,
  });
}

export async function beat(world: World, context: Context, caller: Caller): Promise<void> {
  if (caller.session === undefined) return;
  const about = { session: caller.session, epoch: caller.epoch, claim: caller.claim };
  const kept = await world.send(context, 'beat', about, ({ leases }) => leases.beat(claimOf(caller, caller.claim)));
  if (kept === false && caller.abandon === null) forget(world, caller);
}

/** Each replica looks at the line for all of its callers, and those that are called ask; until none is. */
export async function look(world: World, context: Context): Promise<void> {
  for (let asked = true; asked; ) {
    asked = false;
    for (let replica = 0; replica < REPLICAS; replica++) {
      const held = world.callers.filter(each => each.phase === 'waiting' && each.replica === replica);
      const places = held.map(({ place }) => place ?? '');
      if (places.length === 0) continue;
      const called = await world.call(context, 'look', { places }, ({ leases }) =>
        leases.turns(PROVIDER, TEMPLATE, places),
      );
      for (const caller of held) {
        if (called?.includes(caller.place ?? '') !== true) continue;
        asked = true;
        await ask(world, context, caller, false);
        // its replica would ask again at once; here the next look does
        if (caller.phase === 'asking') forget(world, caller);
      }
      if (called === undefined || world.errors.length > 0) return;
    }
    if (world.steps.length > 2_000) throw new Error('callers are called without end');
  }
  const places = world.callers.filter(({ phase }) => phase === 'waiting').map(({ place }) => place);
  if (places.length === 0) return;
  await world.mark(context, 'settled', { places, abandoned: world.abandoned });
}

/** Its connection is closed, or its time over: then its place is kept for its return. */
export async function hangUp(world: World, context: Context, caller: Caller, returns: boolean): Promise<void> {
  await leave(world, context, caller.place ?? '', returns);
  if (returns) Object.assign(caller, { phase: 'away', waits: false });
  else forget(world, caller);
}

/** Comes back after `Retry-After`, to wait or not. */
export async function comeBack(world: World, context: Context, caller: Caller, waits: boolean): Promise<void> {
  caller.waits = waits;
  await ask(world, context, caller, false);
}
