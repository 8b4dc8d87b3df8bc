/** The lease protocol as a model for `explore`: docs/protocol.md says what it covers and what it leaves out. */
import { callerSteps, platformSteps } from './callers.ts';
import type { Model, Step } from './explore.ts';
import { runnerLoops, sessionLoops, tick } from './loops.ts';
import { brokenRules, isQuiet } from './rules.ts';
import { runnerSteps } from './runners.ts';
import { copyState, type Emit, initialState, noRunner, type State, stateKey } from './state.ts';
import { holds, type World } from './world.ts';

export const leaseProtocol = (world: World): Model<State> => ({
  initial: initialState(world),
  key: stateKey,
  broken: state => brokenRules(state, world),
  quiet: isQuiet,
  steps: state => {
    const steps: Step<State>[] = [];
    const emit: Emit = (name, heals, change) => {
      const next = copyState(state);
      change(next);
      settle(next, world);
      steps.push({ name, next, heals, broken: next.broken });
    };
    callerSteps(state, world, emit);
    platformSteps(state, world, emit);
    runnerSteps(state, world, emit);
    sessionLoops(state, world, emit);
    runnerLoops(state, world, emit);
    tick(world, emit);
    return steps;
  },
});

/** Forgets what no step can ask for any more, so that states which differ in it alone are one. */
function settle(state: State, world: World): void {
  state.runners.forEach((runner, place) => {
    const deaf = (runner.phase === 'closed' || runner.phase === 'dead') && runner.answer < 0;
    const bootCounts = holds(world, 'up-only-from-creating');
    if (bootCounts && runner.phase !== 'none' && runner.phase !== 'fresh') runner.mail = null;
    if (runner.phase === 'dead' && !(world.restarts && runner.processBoot === 1)) runner.served = null;
    if (runner.assigned || runner.state === 'draining') runner.waited = 0;
    const mayHear = runner.assigned && !deaf;
    const fenced = runner.redeemed && !runner.acked && runner.deadline > 0;
    if (runner.state === 'draining' && !mayHear && !fenced && holds(world, 'takeover-raises-epoch'))
      Object.assign(runner, { session: -1, epoch: 0, assigned: false, redeemed: false, deadline: 0 });
    if (runner.state === 'gone' && runner.pod === 'none') {
      const { belief } = runner;
      state.runners[place] = { ...noRunner(), belief: holds(world, 'sweep-lists-pods-first') ? 0 : belief };
    }
  });
}
