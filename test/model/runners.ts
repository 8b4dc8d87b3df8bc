/** The acts of runners, and the messages that reach them: assignments, redemption, activity reports, orders to drain, death. */
import { ASKING } from './callers.ts';
import * as db from './database.ts';
import { type Assignment, callerAt, type Emit, type Runner, runnerAt, type State, sessionAt } from './state.ts';
import { holds, TICKS, type World } from './world.ts';

/** The end of serving, for good; what it knew is forgotten. */
export const stop = (runner: Runner, phase: 'closed' | 'dead'): void =>
  void Object.assign(runner, { phase, job: null, asked: -1, answer: -1, own: 0, save: 'none' });

export function runnerSteps(state: State, world: World, emit: Emit): void {
  state.runners.forEach((runner, place) => {
    const name = `r${place}`;
    const on = (what: string, change: (own: Runner, draft: State) => void): void =>
      emit(what, false, draft => change(runnerAt(draft, place), draft));
    const { mail } = runner;

    // Another audience (an earlier boot) is refused; a second assignment too; a repeated one changes nothing.
    if (
      mail !== null &&
      runner.phase === 'fresh' &&
      (mail.boot === runner.processBoot || !holds(world, 'up-only-from-creating'))
    )
      on(`assigned ${name} for s${mail.session} e${mail.epoch}, asks the broker`, own => {
        Object.assign(own, { phase: 'redeeming', job: mail, asked: 0 });
      });
    if (runner.asked >= 0) requestSteps(state, world, runner, place, on);
    if (runner.answer >= 0) answerSteps(world, runner, name, on);
    if (runner.phase === 'open' && runner.answer < 0 && runner.asked !== 0)
      on(`report ${name} sends one`, own => {
        own.asked = 0;
      });
    if (world.hibernates && runner.phase === 'open') saveSteps(state, world, runner, place, on);
    if (runner.state === 'draining' && ['fresh', 'redeeming', 'open'].includes(runner.phase))
      on(`drained ${name} stops serving`, own => {
        const { answer, job } = own;
        stop(own, 'closed');
        if (!holds(world, 'closed-stays-closed')) Object.assign(own, { answer, job });
      });
    if (runner.state === 'draining' && !runner.acked && (runner.phase === 'closed' || runner.phase === 'dead'))
      on(`acknowledged ${name}`, own => {
        own.acked = true;
      });
    if (runner.phase !== 'none' && runner.phase !== 'dead') on(`dies ${name}`, own => stop(own, 'dead'));
    if (world.restarts && runner.phase !== 'none' && runner.processBoot === 1)
      on(`restarts ${name} in place`, own => {
        stop(own, 'dead');
        Object.assign(own, { phase: 'fresh', processBoot: 2 });
      });
  });
}

type On = (what: string, change: (own: Runner, draft: State) => void) => void;

/** The browser is read; calls may come; what was read is brought, or given up. */
function saveSteps(state: State, world: World, runner: Runner, place: number, on: On): void {
  const name = `r${place}`;
  if (runner.save === 'none') {
    on(`saves ${name} its browser`, own => {
      own.save = 'read';
    });
    return;
  }
  on(`givesUp ${name} the save`, own => {
    own.save = 'none';
  });
  if (runner.save === 'read' && !holds(world, 'calls-wait-for-hibernation'))
    on(`calls ${name} while it saves`, own => {
      own.save = 'dirty';
    });
  if (db.judgeHibernate(state, world, runner))
    on(`hibernate ${name} s${runner.session} e${runner.epoch}`, (own, draft) => {
      db.hibernate(draft, world, own);
      own.save = 'none';
    });
}

function requestSteps(state: State, world: World, runner: Runner, place: number, on: On): void {
  const { job, asked } = runner;
  if (job === null) return;
  const name = `r${place}`;
  const told = (left: number): number => (holds(world, 'count-from-asking') ? Math.max(left - asked, 0) : left);
  if (runner.phase === 'open') {
    for (const calls of [true, false])
      on(`activity ${name}, ${calls ? 'calls' : 'only asks'}`, (own, draft) => {
        const left = db.activity(draft, world, own, calls);
        if (left === undefined) stop(own, 'closed');
        else Object.assign(own, { asked: -1, answer: told(left) });
      });
    return;
  }
  if (asked > 0)
    on(`asks ${name} the broker again`, own => {
      own.asked = 0;
    });
  const verdict = db.judgeRedeem(state, world, runner, job);
  const given = (own: Runner, draft: State): void => {
    db.redeem(draft, own, job);
    Object.assign(own, { asked: -1, answer: told(TICKS.lease), belief: 0 });
  };
  if (holds(world, 'redeem-locks-session')) {
    const again = (own: Runner, draft: State): void => {
      Object.assign(own, { answer: told(db.redeemAgain(draft, own, job)), asked: -1 });
    };
    if (verdict === 'give' || verdict === 'again') {
      const answered = verdict === 'give' ? given : again;
      on(`redeem ${name} s${job.session} e${job.epoch}${verdict === 'again' ? ', again' : ''}`, answered);
      readySteps(state, world, name, job, on, answered);
    }
  } else {
    if (verdict === 'give' && runner.belief === 0)
      on(`redeem ${name} read the session, waits for the runner's row`, own => {
        own.belief = 1;
      });
    if (runner.belief === 1 && runner.state === 'claimed') on(`redeem ${name} writes by its old snapshot`, given);
  }
  if (verdict === 'refuse') on(`refused ${name} by the broker`, own => stop(own, 'closed'));
}

/** The redemption makes the lease ready too, where the process that leads the start answers it: not one that restores. */
function readySteps(state: State, world: World, name: string, job: Assignment, on: On, given: Parameters<On>[1]): void {
  const { session, epoch, claim } = job;
  const leads = (caller: State['callers'][number], index: number) =>
    caller.phase === 'sent' && caller.session === session && caller.epoch === epoch && index + 1 === claim;
  if (sessionAt(state, session).saved || !state.callers.some(leads)) return;
  const what = `redeemReady caller${claim - 1} s${session} e${epoch} ${name}`;
  const ready = (own: Runner, draft: State): void => {
    given(own, draft);
    db.ready(draft, world, session, epoch, claim);
  };
  on(what, (own, draft) => {
    ready(own, draft);
    Object.assign(callerAt(draft, claim - 1), ASKING);
  });
  on(`${what}, the answer of COMMIT is lost`, ready);
}

function answerSteps(world: World, runner: Runner, name: string, on: On): void {
  if (runner.phase === 'redeeming' && holds(world, 'redeem-locks-session'))
    on(`asks ${name} the broker again, whose answer was lost`, own => {
      Object.assign(own, { answer: -1, asked: 0 });
    });
  if (runner.phase === 'redeeming' || (runner.phase === 'closed' && !holds(world, 'closed-stays-closed')))
    on(`opens ${name}, ${runner.answer} left`, own => {
      if (runner.answer === 0) return stop(own, 'closed');
      Object.assign(own, { phase: 'open', own: runner.answer, answer: -1, served: own.served ?? runner.job });
    });
  if (runner.phase === 'open')
    on(`told ${name}, ${runner.answer} left`, own => {
      Object.assign(own, { own: Math.max(own.own, runner.answer), answer: -1 });
    });
}
