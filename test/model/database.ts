/** The protocol's SQL functions: each is one atomic step that judges rows and the database's clock under its locks. */
import { mayMove, NEXT_RUNNER_STATES, NEXT_SESSION_STATES, type RunnerState } from '../../contract/states.ts';
import type { Assignment, Runner, Session, State } from './state.ts';
import { sessionAt } from './state.ts';
import { holds, TICKS, type World } from './world.ts';

/** The runner of an epoch: `unique (session_id, epoch)`. */
export const runnerOf = (state: State, session: number, epoch: number): Runner | undefined =>
  state.runners.find(runner => runner.session === session && runner.epoch === epoch);

/** Leases that may still be granted, or are. A start that has lapsed is among it: its claimer may beat again. */
export const isLive = (session: Session): boolean =>
  session.status === 'starting' || (session.status === 'ready' && session.left > 0);

/** Starting or ready: it has a runner. */
export const isOn = ({ status }: Session): boolean => status === 'starting' || status === 'ready';

const counts = (session: Session, world: World): boolean => {
  if (session.status === 'ready') return session.left > 0 || !holds(world, 'quota-ignores-expired');
  return session.status === 'starting' && (session.claimLeft > 0 || holds(world, 'lapsed-start-counts'));
};

export const permitsHeld = (state: State, world: World): number =>
  state.runners.filter(
    ({ state: row }) => row !== 'none' && row !== 'gone' && (row !== 'draining' || holds(world, 'permit-until-gone')),
  ).length;

/** Runner states follow their table (a trigger). */
export function move(state: State, runner: Runner, to: RunnerState): void {
  const legal =
    runner.state === 'none' ? to === 'creating' : NEXT_RUNNER_STATES[runner.state].some(next => next === to);
  if (!legal) state.broken.push('runner states follow their table');
  runner.state = to;
}

/** Session states follow theirs (a trigger), within one epoch; `over` stands for `ended` and `error`. */
function moveSession(state: State, session: Session, to: 'ready' | 'hibernated' | 'over'): void {
  const row = (status: Session['status']) => (status === 'over' ? 'ended' : status);
  if (!mayMove(NEXT_SESSION_STATES, row(session.status), row(to)))
    state.broken.push('session states follow their table');
  session.status = to;
}

const drain = (state: State, runner: Runner | undefined): void => {
  if (runner !== undefined && runner.state !== 'draining' && runner.state !== 'gone') move(state, runner, 'draining');
};

/** Every change of a lease's end goes through here. */
function extend(state: State, session: Session): void {
  if (session.left === 0) state.broken.push('no lease is revived after its expiry');
  session.left = TICKS.lease;
}

/** A call, a get-or-create or a heartbeat. */
function use(world: World, session: Session): void {
  session.used = world.hibernates;
}

function grant(state: State, session: Session, epoch: number): void {
  if (epoch < session.claimedEpoch) state.broken.push('no grant of an epoch after a higher one was claimed');
  if (epoch <= session.overEpoch) state.broken.push('no grant after an end');
  if (session.left === 0) state.broken.push('no grant of an expired lease');
}

/** `forGood`: its user ends it, or its time as a hibernated one is over. */
function close(state: State, world: World, index: number, forGood = false): void {
  const session = sessionAt(state, index);
  session.overEpoch = Math.max(session.overEpoch, session.epoch);
  const restores = session.status === 'starting' && session.saved && holds(world, 'failed-restore-hibernates');
  moveSession(state, session, restores && !forGood ? 'hibernated' : 'over');
  if (session.restores && session.status === 'over' && !forGood)
    state.broken.push('a restore that fails costs nothing of the session');
  session.restores = false;
  if (session.status === 'over' && holds(world, 'end-drops-snapshot')) session.saved = false;
  session.used = false;
  if (holds(world, 'ready-asks-starting')) session.claim = 0;
  session.claimLeft = 0;
  session.startLeft = 0;
  session.left = 0;
  drain(state, runnerOf(state, index, session.epoch));
}

/** The first step of acquire: everything but the choice of a runner. */
export function judgeAcquire(
  state: State,
  world: World,
  index: number,
  claim: number,
): 'renew' | 'resume' | 'wait' | 'refuse' | 'inherit' | 'claim' {
  const session = sessionAt(state, index);
  const old = runnerOf(state, index, session.epoch);
  if (session.status === 'ready' && session.left > 0 && old?.state === 'leased') return 'renew';
  if (session.status === 'starting') {
    if (session.claim === claim && holds(world, 'resume-own-claim')) return 'resume';
    if (session.claimLeft > 0 && session.startLeft > 0) return 'wait';
  }
  if (!withinQuota(state, world, index)) return 'refuse';
  const untouched = old !== undefined && !old.assigned && (old.state === 'creating' || old.state === 'claimed');
  const young = session.startLeft > 0 || !holds(world, 'inherit-keeps-cap');
  const inherits = session.status === 'starting' && untouched && young && holds(world, 'takeover-inherits');
  return inherits ? 'inherit' : 'claim';
}

export const withinQuota = (state: State, world: World, index: number): boolean =>
  state.sessions.filter((session, at) => at !== index && counts(session, world)).length < world.quota;

/** Warm runners, those that the pool is making, and free permits. */
export const freePlaces = (state: State, world: World): number =>
  world.permits -
  permitsHeld(state, world) +
  state.runners.filter(({ state: row, session }) => row === 'warm' || (row === 'creating' && session < 0)).length;

const placeOf = (state: State, session: number): number => state.line.findIndex(row => row.session === session);

/** Callers that come before this session's: those that wait, and for one that is new also those that were asked to come back. */
export function ahead(state: State, session: number): number {
  const place = placeOf(state, session);
  return place < 0 ? state.line.length : state.line.slice(0, place).filter(({ waits }) => waits).length;
}

export const mayTake = (state: State, world: World, session: number): boolean =>
  !world.line || freePlaces(state, world) > (holds(world, 'line-in-order') ? ahead(state, session) : 0);

/** A user has no more callers in the line than sessions. */
export const mayJoin = (state: State, world: World, session: number): boolean =>
  placeOf(state, session) >= 0 || state.line.length < world.quota;

/** A caller without a place: held by its replica, or asked to come back. */
export function joinLine(state: State, session: number, waits: boolean): void {
  const row = state.line[placeOf(state, session)];
  if (row === undefined) state.line.push({ session, waits, kept: true, orphan: false });
  else Object.assign(row, { waits: waits || row.waits, kept: true, orphan: waits ? false : row.orphan });
}

/** The call is held no longer. */
export function leaveLine(state: State, session: number, returns: boolean): void {
  const row = state.line[placeOf(state, session)];
  if (row !== undefined && returns) Object.assign(row, { waits: false, kept: true, orphan: false });
  else state.line = state.line.filter(each => each !== row);
}

/** `line_turns`: sessions of this line whose callers are to ask again. */
export const lineTurns = (state: State, world: World): number[] =>
  state.line
    .filter(({ waits }) => waits)
    .slice(0, freePlaces(state, world))
    .map(({ session }) => session);

export function renew(state: State, world: World, index: number): void {
  const session = sessionAt(state, index);
  extend(state, session);
  use(world, session);
  grant(state, session, session.epoch);
}

/** The epoch rises, the old runner drains, `chosen` (warm, creating or a free slot) is this epoch's; all or nothing. */
export function claim(state: State, world: World, index: number, claimId: number, chosen: Runner): void {
  const session = sessionAt(state, index);
  const old = runnerOf(state, index, session.epoch);
  const takeover = session.status === 'starting';
  const inherited = old === chosen;
  if (world.line && !inherited && freePlaces(state, world) <= ahead(state, index))
    state.broken.push('no caller overtakes another of the same pool');
  state.line = state.line.filter(row => row.session !== index);
  if (inherited && chosen.waited >= TICKS.start)
    state.broken.push('a runner that does not come up is given up at the cap of its start');
  if (takeover && old !== undefined && !old.assigned && !inherited && session.startLeft > 0 && old.state !== 'draining')
    state.broken.push('a takeover keeps a runner that was sent nothing');
  if (!takeover || holds(world, 'takeover-raises-epoch')) session.epoch += 1;
  if (session.epoch <= session.claimedEpoch && !(takeover && !holds(world, 'takeover-raises-epoch')))
    state.broken.push('an epoch is claimed once');
  session.overEpoch = Math.max(session.overEpoch, session.epoch - 1);
  session.claimedEpoch = Math.max(session.claimedEpoch, session.epoch);
  session.restores ||= session.status === 'hibernated';
  session.status = 'starting';
  session.claim = claimId;
  session.claimLeft = TICKS.claim;
  if (!inherited || !holds(world, 'inherit-keeps-cap')) session.startLeft = TICKS.start;
  session.left = 0;
  session.redeemed = false;
  if (!holds(world, 'snapshot-until-ready')) session.saved = false;
  if (old !== undefined && !inherited && holds(world, 'claim-drains-old-runner')) drain(state, old);
  chosen.session = index;
  chosen.epoch = session.epoch;
  if (chosen.state === 'none') move(state, chosen, 'creating');
  if (chosen.state === 'warm') {
    move(state, chosen, 'claimed');
    chosen.assigned = true;
  }
}

/** The intent of an unreserved runner. */
export const order = (state: State, free: Runner): void => move(state, free, 'creating');

/** A runner has answered with its boot id. */
export function runnerUp(state: State, runner: Runner): void {
  move(state, runner, runner.session >= 0 && runner.state === 'creating' ? 'claimed' : 'warm');
  if (runner.state === 'warm') {
    Object.assign(runner, { session: -1, epoch: 0, assigned: false, redeemed: false, deadline: 0, acked: false });
  }
  runner.boot = runner.processBoot;
}

/** Before a runner that came up later is sent its assignment; a second time by the same claim is harmless. */
export function beginAssign(state: State, index: number, epoch: number, claimId: number): void {
  const session = sessionAt(state, index);
  const runner = runnerOf(state, index, epoch);
  if (session.status !== 'starting' || session.epoch !== epoch || session.claim !== claimId) return;
  if (runner?.state === 'claimed') runner.assigned = true;
}

export function beat(state: State, index: number, epoch: number, claimId: number): void {
  const session = sessionAt(state, index);
  if (session.status === 'starting' && session.epoch === epoch && session.claim === claimId)
    session.claimLeft = TICKS.claim;
}

/** Gone, acknowledged, or past the latest end it was informed of. */
const isOver = (runner: Runner): boolean => runner.acked || runner.state === 'gone' || runner.deadline === 0;

/** `again`: its process has redeemed already, and asks with the same key. */
export function judgeRedeem(
  state: State,
  world: World,
  runner: Runner,
  job: Assignment,
): 'give' | 'again' | 'wait' | 'refuse' {
  const session = sessionAt(state, job.session);
  if (runner.redeemed) {
    const live = (session.status === 'starting' || session.status === 'ready') && session.left > 0;
    const current = session.epoch === job.epoch && session.claim === job.claim;
    return live && current && runner.state === 'leased' && runner.boot === job.boot ? 'again' : 'refuse';
  }
  if (!holds(world, 'redeem-judges-claim')) return 'give';
  const sameClaim = session.claim === job.claim || !holds(world, 'claim-id');
  if (session.status !== 'starting' || session.epoch !== job.epoch || !sameClaim) return 'refuse';
  if (runner.state !== 'claimed' || runner.session !== job.session || runner.epoch !== job.epoch) return 'refuse';
  if (runner.boot !== job.boot) return 'refuse';
  const before = state.runners.filter(
    other => other.redeemed && other.session === job.session && other.epoch < job.epoch && !isOver(other),
  );
  return before.length > 0 && holds(world, 'redeem-awaits-predecessor') ? 'wait' : 'give';
}

/** Hands out the secrets and the milliseconds left; the lease's time starts here. */
export function redeem(state: State, runner: Runner, job: Assignment): void {
  const session = sessionAt(state, job.session);
  if (session.status !== 'starting' || session.epoch !== job.epoch || session.claim !== job.claim)
    state.broken.push('secrets are for the current claim alone');
  if (session.epoch === job.epoch && session.redeemed) state.broken.push('secrets are redeemed once an epoch');
  if (runner.state === 'claimed') move(state, runner, 'leased');
  runner.redeemed = true;
  runner.deadline = TICKS.lease;
  if (session.epoch === job.epoch) {
    session.redeemed = true;
    session.left = TICKS.lease;
  }
}

/** The same secrets to the same process, and what is left by now. */
export function redeemAgain(state: State, runner: Runner, job: Assignment): number {
  const { left } = sessionAt(state, job.session);
  runner.deadline = Math.max(runner.deadline, left);
  return left;
}

/** Compare-and-set to `ready`; zero rows: read again, ready with my claim is mine. True is a grant. */
export function ready(state: State, world: World, index: number, epoch: number, claimId: number): boolean {
  const session = sessionAt(state, index);
  const mine =
    (session.epoch === epoch && (session.claim === claimId || !holds(world, 'claim-id'))) ||
    !holds(world, 'ready-names-claim');
  const ended = session.status === 'over' || session.status === 'hibernated';
  const asked = !ended || !holds(world, 'ready-asks-starting');
  if (!mine || !asked || (session.left === 0 && holds(world, 'ready-judges-expiry'))) return false;
  if (session.status === 'starting') use(world, session);
  moveSession(state, session, 'ready');
  session.restores = false;
  if (holds(world, 'end-drops-snapshot')) session.saved = false;
  session.claimLeft = 0;
  session.startLeft = 0;
  grant(state, session, epoch);
  return true;
}

/** The caller gives up its claim: the session is `error`, the runner drains. */
export function fail(state: State, world: World, index: number, epoch: number, claimId: number): void {
  const session = sessionAt(state, index);
  if (session.status === 'starting' && session.epoch === epoch && session.claim === claimId) close(state, world, index);
}

/** DELETE, expiry, start cap, loss: the caller has judged under the same lock what makes it the end of `epoch`. */
export function end(state: State, world: World, index: number, epoch: number, forGood = false): void {
  const session = sessionAt(state, index);
  if (session.status === 'over') return;
  if (session.epoch !== epoch) state.broken.push('a request for one epoch touches no other');
  close(state, world, index, forGood);
}

/** API heartbeat. It sends the runner nothing, so the runner's row keeps its deadline. */
export function heartbeat(state: State, world: World, index: number, epoch: number): void {
  const session = sessionAt(state, index);
  if (session.status !== 'ready') return;
  if (session.epoch !== epoch) state.broken.push('a request for one epoch touches no other');
  extend(state, session);
  use(world, session);
}

/** A runner's report: `calls` moves the expiry, none only asks. Ticks left, or undefined: the lease is over. */
export function activity(state: State, world: World, runner: Runner, calls: boolean): number | undefined {
  const session = sessionAt(state, runner.session);
  const live = isOn(session) && session.epoch === runner.epoch && session.left > 0;
  if (!live || runner.state !== 'leased') return undefined;
  if (calls) {
    extend(state, session);
    use(world, session);
  }
  if (calls || holds(world, 'told-is-written')) runner.deadline = Math.max(runner.deadline, session.left);
  return session.left;
}

/** The runner is not what it was. `proved`: its process has ended. */
export function runnerLost(state: State, world: World, runner: Runner, proved: boolean): void {
  const { session, epoch } = runner;
  if (session >= 0 && sessionAt(state, session).epoch === epoch && isOn(sessionAt(state, session)))
    close(state, world, session);
  drain(state, runner);
  if (proved) runner.acked = true;
  else if (!holds(world, 'suspicion-is-not-gone')) move(state, runner, 'gone');
}

export function judgeHibernate(state: State, world: World, runner: Runner): boolean {
  const session = sessionAt(state, runner.session);
  const live = session.status === 'ready' && session.epoch === runner.epoch && session.left > 0;
  if (!(live && runner.state === 'leased') && holds(world, 'hibernate-judges-lease')) return false;
  return !session.used || !holds(world, 'hibernate-judges-use');
}

/** Keeps the snapshot that the runner brings, and gives the runner back. Without its fix the snapshot comes in a later step. */
export function hibernate(state: State, world: World, runner: Runner): void {
  const session = sessionAt(state, runner.session);
  if (session.epoch !== runner.epoch) state.broken.push('a request for one epoch touches no other');
  if (session.used) state.broken.push('no lease is hibernated that was just used');
  if (runner.save === 'dirty') state.broken.push('a snapshot holds all that agents did');
  if (session.status !== 'ready') return;
  session.overEpoch = Math.max(session.overEpoch, session.epoch);
  moveSession(state, session, 'hibernated');
  Object.assign(session, { claim: 0, claimLeft: 0, startLeft: 0, left: 0 });
  session.saved = holds(world, 'hibernate-in-one-step');
  drain(state, runnerOf(state, runner.session, session.epoch));
}
