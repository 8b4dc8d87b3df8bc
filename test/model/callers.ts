/** The acts of callers: controllers in the middle of get-or-create, and platforms that heartbeat and DELETE at any time. */
import * as db from './database.ts';
import type { Caller, Emit, Runner, State } from './state.ts';
import { callerAt, copyState, runnerAt, sessionAt } from './state.ts';
import { holds, TICKS, type World } from './world.ts';

export const ASKING: Caller = { phase: 'asking', session: 0, epoch: 0 };

const become = (draft: State, index: number, caller: Caller): void =>
  void Object.assign(callerAt(draft, index), caller);

export function callerSteps(state: State, world: World, emit: Emit): void {
  state.callers.forEach((caller, index) => {
    if (caller.phase === 'waiting') waitSteps(state, world, emit, index);
    else if (caller.phase === 'asking' || caller.phase === 'counted')
      for (let session = 0; session < world.sessions; session++) askSteps(state, world, emit, index, session);
    else claimSteps(state, world, emit, index);
  });
}

/** Warm ones (any: SKIP LOCKED), creating ones that are unleased, else a new one; alike ones stand for each other. */
function choices(state: State, world: World): number[] {
  const first = (fits: (runner: Runner) => boolean): number[] =>
    state.runners.flatMap((runner, index) => (fits(runner) ? [index] : []));
  const created = db.permitsHeld(state, world) < world.permits ? first(runner => runner.state === 'none') : [];
  return [
    ...first(runner => runner.state === 'warm'),
    ...first(runner => runner.state === 'creating' && runner.session < 0),
    ...created.slice(0, 1),
  ];
}

function askSteps(state: State, world: World, emit: Emit, index: number, session: number): void {
  const claimId = index + 1;
  const who = `caller${index}`;
  const row = sessionAt(state, session);
  const { phase } = callerAt(state, index);
  const verdict = db.judgeAcquire(state, world, session, claimId);
  if (verdict === 'renew')
    emit(`acquire ${who} renews s${session}`, false, draft => {
      db.renew(draft, world, session);
      if (phase === 'waiting') become(draft, index, ASKING);
    });
  if (verdict === 'resume')
    emit(`acquire ${who} resumes s${session} e${row.epoch}`, false, draft =>
      become(draft, index, { phase: 'claimed', session, epoch: row.epoch }),
    );
  if (verdict === 'wait' && row.claim === claimId)
    emit(`wait ${who} s${session}`, false, draft => draft.broken.push('no caller waits for its own claim'));
  if (verdict === 'refuse')
    emit(`refuse ${who} s${session}`, false, draft => {
      if (phase === 'waiting') become(draft, index, ASKING);
      if (phase === 'waiting' && holds(world, 'refused-leaves-line')) db.leaveLine(draft, session, false);
      const others = draft.sessions.filter((other, place) => place !== session && db.isLive(other));
      if (others.length < world.quota) draft.broken.push('no request is refused while a place is free');
    });
  if (!holds(world, 'quota-under-lock') && phase === 'asking' && (verdict === 'claim' || verdict === 'inherit'))
    emit(`count ${who} finds a place for s${session}`, false, draft =>
      become(draft, index, { phase: 'counted', session, epoch: 0 }),
    );
  const counted = holds(world, 'quota-under-lock') || phase === 'counted';
  if (!counted || row.epoch >= world.epochs) return;
  const old = db.runnerOf(state, session, row.epoch);
  if (verdict === 'inherit' && old !== undefined)
    takeSteps(state, world, emit, 'inherit', index, session, state.runners.indexOf(old));
  if (verdict === 'claim' && !db.mayTake(state, world, session)) lineSteps(state, world, emit, index, session);
  else if (verdict === 'claim' || (verdict === 'refuse' && phase === 'counted'))
    for (const place of choices(state, world)) takeSteps(state, world, emit, 'claim', index, session, place);
}

/** A caller that may not take a place: it waits, or is asked to come back. */
function lineSteps(state: State, world: World, emit: Emit, index: number, session: number): void {
  const who = `caller${index} s${session}`;
  const isNew = callerAt(state, index).phase !== 'waiting';
  if (!db.mayJoin(state, world, session)) {
    emit(`crowded ${who}, its user waits already`, false, draft => {
      if (!isNew) become(draft, index, ASKING);
    });
    return;
  }
  emit(`joins ${who}`, false, draft => {
    db.joinLine(draft, session, true);
    become(draft, index, { phase: 'waiting', session, epoch: 0 });
  });
  if (isNew) emit(`turned ${who} away`, false, draft => db.joinLine(draft, session, false));
}

/** It asks again, as a call of the line or a deadline makes it; hangs up, goes away for a while, or its replica crashes. */
function waitSteps(state: State, world: World, emit: Emit, index: number): void {
  const { session } = callerAt(state, index);
  const who = `caller${index} s${session}`;
  askSteps(state, world, emit, index, session);
  const leaves = (returns: boolean) => (draft: State) => {
    db.leaveLine(draft, session, returns);
    become(draft, index, ASKING);
  };
  emit(`hangsUp ${who}`, false, leaves(false));
  emit(`goesAway ${who}, to come back`, false, leaves(true));
  emit(`vanishes ${who} with its replica`, false, draft => {
    for (const row of draft.line) if (row.session === session) row.orphan = true;
    become(draft, index, ASKING);
  });
}

/** One claim with the runner at `place`; its answer may be lost. */
function takeSteps(
  state: State,
  world: World,
  emit: Emit,
  kind: 'claim' | 'inherit',
  index: number,
  session: number,
  place: number,
): void {
  const name = `${kind} caller${index} s${session} with r${place} (${runnerAt(state, place).state})`;
  const take = (draft: State): void => {
    if (!holds(world, 'synchronous-standby')) draft.standby = copyState({ ...state, standby: null });
    db.claim(draft, world, session, index + 1, runnerAt(draft, place));
  };
  emit(name, false, draft => {
    take(draft);
    become(draft, index, { phase: 'claimed', session, epoch: sessionAt(draft, session).epoch });
  });
  emit(`${name}, the answer of COMMIT is lost`, false, draft => {
    take(draft);
    become(draft, index, ASKING);
  });
}

function claimSteps(state: State, world: World, emit: Emit, index: number): void {
  const { phase, session, epoch } = callerAt(state, index);
  const claimId = index + 1;
  const who = `caller${index} s${session} e${epoch}`;
  const row = sessionAt(state, session);
  const mine = row.status === 'starting' && row.epoch === epoch && row.claim === claimId;
  if (mine && row.claimLeft < TICKS.claim) emit(`beat ${who}`, false, draft => db.beat(draft, session, epoch, claimId));
  emit(`fail ${who} gives up`, false, draft => {
    db.fail(draft, world, session, epoch, claimId);
    become(draft, index, ASKING);
  });
  state.runners.forEach((runner, place) => {
    if (runner.session !== session || runner.epoch !== epoch) return;
    if (phase === 'claimed' && runner.state === 'claimed' && !runner.assigned)
      emit(`beginAssign ${who} r${place}`, false, draft => db.beginAssign(draft, session, epoch, claimId));
    const sendable = runner.assigned && (phase === 'claimed' || (phase === 'sent' && runner.mail === null));
    if (sendable)
      emit(`assign ${who} sends to r${place}`, false, draft => {
        runnerAt(draft, place).mail = { session, epoch, claim: claimId, boot: runner.boot };
        become(draft, index, { phase: 'sent', session, epoch });
      });
    const { job } = runner;
    const served = runner.phase === 'open' && job?.session === session && job.epoch === epoch && job.claim === claimId;
    if (phase === 'sent' && served)
      emit(`answered ${who} by r${place}`, false, draft => become(draft, index, { phase: 'answered', session, epoch }));
  });
  if (phase === 'sent' && !holds(world, 'new-runner-new-epoch'))
    state.runners.forEach((runner, place) => {
      if (runner.state !== 'warm' || row.status !== 'starting' || row.epoch !== epoch) return;
      emit(`retry ${who} takes r${place} in the same epoch`, false, draft => {
        db.move(draft, runnerAt(draft, place), 'claimed');
        Object.assign(runnerAt(draft, place), { session, epoch, assigned: true });
        become(draft, index, { phase: 'claimed', session, epoch });
      });
    });
  if (phase === 'answered') {
    emit(`ready ${who}`, false, draft => {
      db.ready(draft, world, session, epoch, claimId);
      become(draft, index, ASKING);
    });
    emit(`ready ${who}, the answer of COMMIT is lost`, false, draft => {
      db.ready(draft, world, session, epoch, claimId);
    });
  }
}

/** Late, repeated and unexpected: any epoch that was ever claimed may be named at any time. */
export function platformSteps(state: State, world: World, emit: Emit): void {
  state.sessions.forEach((session, index) => {
    for (let epoch = 1; epoch <= session.claimedEpoch; epoch++) {
      if (epoch !== session.epoch && holds(world, 'requests-carry-epoch')) continue;
      if (session.status !== 'over')
        emit(`DELETE s${index} e${epoch}`, false, draft => db.end(draft, world, index, epoch, true));
      if (session.status === 'ready' && session.left > 0)
        emit(`heartbeat s${index} e${epoch}`, false, draft => db.heartbeat(draft, world, index, epoch));
    }
    if (holds(world, 'judge-under-lock')) return;
    if (session.status === 'ready' && session.left > 0 && session.belief === 0)
      emit(`heartbeat s${index} judges, then waits for the lock`, false, draft => {
        sessionAt(draft, index).belief = 1;
      });
    if (session.belief === 1)
      emit(`heartbeat s${index} got the lock and writes`, false, draft => {
        sessionAt(draft, index).belief = 0;
        db.heartbeat(draft, world, index, session.epoch);
      });
  });
}
