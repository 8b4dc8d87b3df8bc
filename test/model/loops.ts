/** The acts of the system by itself: time, and the loops that every replica runs (reaper, starts, pool, drain, orphans). */
import * as db from './database.ts';
import { stop } from './runners.ts';
import { type Emit, type Runner, runnerAt, type State, sessionAt } from './state.ts';
import { holds, TICKS, type World } from './world.ts';

/** One tick of every clock: the database's, and the runners' monotonic ones. */
export function tick(world: World, emit: Emit): void {
  emit('tick', true, draft => {
    // a replica that lives keeps its callers in the line; all else in it lapses within a tick
    const isHeld = (session: number) =>
      draft.callers.some(each => each.phase === 'waiting' && each.session === session);
    draft.line = draft.line
      .filter(row => row.waits && isHeld(row.session))
      .map(row => ({ ...row, kept: false, orphan: false }));
    for (const session of draft.sessions) {
      session.claimLeft = Math.max(session.claimLeft - 1, 0);
      session.startLeft = Math.max(session.startLeft - 1, 0);
      session.left = Math.max(session.left - 1, 0);
      session.used = false;
    }
    for (const runner of draft.runners) {
      runner.deadline = Math.max(runner.deadline - 1, 0);
      if (runner.session >= 0 && !runner.assigned) runner.waited = Math.min(runner.waited + 1, TICKS.start);
      if (runner.asked >= 0) runner.asked = Math.min(runner.asked + 1, TICKS.lease);
      if (runner.answer > 0 && holds(world, 'count-from-asking')) runner.answer -= 1;
      if (runner.phase !== 'open' || !holds(world, 'runner-deadline')) continue;
      runner.own -= 1;
      if (runner.own === 0) stop(runner, 'closed');
    }
  });
}

export function sessionLoops(state: State, world: World, emit: Emit): void {
  state.sessions.forEach((session, index) => {
    const expired = session.status === 'ready' && session.left === 0;
    const finish = (draft: State): void => db.end(draft, world, index, session.epoch);
    if (session.status === 'hibernated')
      emit(`forget s${index} e${session.epoch}, hibernated for too long`, false, draft =>
        db.end(draft, world, index, session.epoch, true),
      );
    if (session.status === 'starting' && session.startLeft === 0)
      emit(`stuck s${index} e${session.epoch}`, true, finish);
    if (holds(world, 'end-compares-epoch')) {
      // A reaper that read long ago is this step too: it judges (id, epoch, expired) again, under the lock.
      if (expired) emit(`expire s${index} e${session.epoch}`, true, finish);
      return;
    }
    if (expired && session.belief === 0)
      emit(`reaper reads s${index} e${session.epoch}`, true, draft => {
        sessionAt(draft, index).belief = session.epoch;
      });
    if (session.belief > 0)
      emit(`reaper ends s${index}`, true, draft => {
        sessionAt(draft, index).belief = 0;
        db.end(draft, world, index, session.belief);
      });
  });
  const { standby } = state;
  if (standby !== null) emit('failover to a standby without the last claim', false, draft => failover(draft, standby));
}

function failover(draft: State, standby: State): void {
  draft.standby = null;
  standby.sessions.forEach(({ claimedEpoch: _, overEpoch: __, ...row }, index) => {
    Object.assign(sessionAt(draft, index), row);
  });
  standby.runners.forEach(({ state, session, epoch, assigned, redeemed, deadline, acked, boot }, place) => {
    Object.assign(runnerAt(draft, place), { state, session, epoch, assigned, redeemed, deadline, acked, boot });
  });
}

export function runnerLoops(state: State, world: World, emit: Emit): void {
  const unreserved = state.runners.filter(
    ({ state: row, session }) => row === 'warm' || (row === 'creating' && session < 0),
  );
  const free = state.runners.findIndex(runner => runner.state === 'none');
  if (free >= 0 && unreserved.length < world.pool && db.permitsHeld(state, world) < world.permits)
    emit(`pool orders r${free}`, false, draft => db.order(draft, runnerAt(draft, free)));

  state.runners.forEach((runner, place) => {
    const name = `r${place}`;
    const on: On = (what, change, heals = true) => emit(what, heals, draft => change(runnerAt(draft, place), draft));
    if (runner.state === 'creating' && runner.pod === 'none')
      on(`create ${name} is called`, it => {
        it.pod = 'asked';
      });
    if (runner.pod === 'asked') {
      on(`created ${name}`, it => void Object.assign(it, { pod: 'up', phase: 'fresh', processBoot: 1 }));
      on(`create ${name} failed`, it => {
        it.pod = 'none';
      });
    }
    const comesUp = runner.state === 'creating' || (!holds(world, 'up-only-from-creating') && runner.boot > 0);
    if (runner.phase === 'fresh' && comesUp && runner.boot !== runner.processBoot && runner.state !== 'warm')
      on(`up ${name}`, (it, draft) => db.runnerUp(draft, it));
    lossSteps(world, runner, name, on);
    const lives = runner.phase === 'fresh' || runner.phase === 'redeeming' || runner.phase === 'open';
    if (!holds(world, 'launch-fails-only-creating') && lives && runner.state !== 'draining' && runner.state !== 'gone')
      on(`launch of ${name} by another replica gives up`, (it, draft) => db.runnerLost(draft, world, it, true), false);
    poolSteps(world, runner, name, on);
    if (runner.state === 'draining' && runner.pod === 'up') on(`removed ${name}'s pod`, it => removePod(it));
    const noPod = runner.pod === 'none' || (runner.pod === 'asked' && !holds(world, 'gone-awaits-create'));
    if (runner.state === 'draining' && noPod) on(`gone ${name}`, (it, draft) => db.move(draft, it, 'gone'));
    sweepSteps(world, runner, name, on);
  });
}

type On = (what: string, change: (own: Runner, draft: State) => void, heals?: boolean) => void;

const removePod = (runner: Runner): void => {
  stop(runner, 'dead');
  runner.pod = 'none';
  runner.phase = 'none';
};

/** A delete that no step has written into the row before. */
const deletePod = (runner: Runner, draft: State): void => {
  if (runner.state === 'claimed' || runner.state === 'leased')
    draft.broken.push('no loop deletes the pod of a claimed or leased runner');
  removePod(runner);
};

function lossSteps(world: World, runner: Runner, name: string, on: On): void {
  const known = ['creating', 'warm', 'claimed', 'leased'].includes(runner.state);
  const otherBoot = runner.boot > 0 && runner.boot !== runner.processBoot && holds(world, 'up-only-from-creating');
  const ended = runner.phase === 'closed' || runner.phase === 'dead' || otherBoot;
  const noPod = runner.pod === 'none' && runner.state !== 'creating';
  if (known && (ended || noPod))
    on(`lost ${name}, its process has ended`, (it, draft) => db.runnerLost(draft, world, it, true));
  else if (runner.state === 'claimed' || runner.state === 'leased')
    on(`suspected ${name}, does not answer`, (it, draft) => db.runnerLost(draft, world, it, false), false);
}

/** Scale-down, a new template, a start that takes too long. */
function poolSteps(world: World, runner: Runner, name: string, on: On): void {
  const unreserved = runner.state === 'warm' || (runner.state === 'creating' && runner.session < 0);
  if (holds(world, 'pool-drains-first')) {
    if (unreserved) on(`pool drains ${name}`, (it, draft) => db.move(draft, it, 'draining'));
    return;
  }
  if (runner.state === 'warm' && runner.belief === 0)
    on(`pool picks ${name}`, it => {
      it.belief = 1;
    });
  if (runner.belief === 1 && runner.pod === 'up') on(`pool deletes ${name}`, deletePod);
}

function sweepSteps(world: World, runner: Runner, name: string, on: On): void {
  const rowless = runner.state === 'none' || runner.state === 'gone';
  if (holds(world, 'sweep-lists-pods-first')) {
    // Listed first, so a pod without a row now never had a live one: intent is written before the pod.
    if (rowless && runner.pod === 'up') on(`sweep deletes ${name}`, deletePod);
    return;
  }
  if (rowless && runner.belief === 0)
    on(`sweep reads rows, ${name} is not there`, it => {
      it.belief = 1;
    });
  if (runner.belief === 1 && runner.pod === 'up') on(`sweep lists pods, deletes ${name}`, deletePod);
}
