/** Rules over a state; rules over a step stand where the step is (`broken.push`). */
import { isLive, permitsHeld, runnerOf } from './database.ts';
import type { Runner, State } from './state.ts';
import type { World } from './world.ts';

const serves = (runner: Runner): boolean => runner.phase === 'open';

export function brokenRules(state: State, world: World): string[] {
  const broken: string[] = [];
  const open = state.runners.filter(serves);
  if (new Set(open.map(runner => runner.job?.session)).size < open.length)
    broken.push('one runner at most serves a session');
  for (const { job, served } of open)
    if (job?.session !== served?.session || job?.epoch !== served?.epoch)
      broken.push('a runner serves one session and one epoch');
  if (state.sessions.filter(isLive).length > world.quota) broken.push('live leases stay within the quota');
  if (state.runners.filter(({ pod }) => pod === 'up').length > world.permits)
    broken.push('live pods stay within the permits');
  if (permitsHeld(state, world) > world.permits) broken.push('runners stay within the permits');
  for (const { session, waits, orphan } of state.line)
    if (waits && !orphan && !state.callers.some(each => each.phase === 'waiting' && each.session === session))
      broken.push('a place in the line that holds others up has a caller');
  const owned = state.runners.filter(({ session }) => session >= 0);
  if (new Set(owned.map(({ session, epoch }) => 8 * session + epoch)).size < owned.length)
    broken.push('one epoch is one runner');
  for (const { status, saved } of state.sessions) {
    if (status === 'hibernated' && !saved) broken.push('a hibernated session has its snapshot');
    if ((status === 'over' || status === 'ready') && saved) broken.push('a snapshot goes with its end and its restore');
  }
  return broken;
}

/** Every runner is gone, warm, or serves a ready, unexpired session; every other session is over or hibernated. */
export const isQuiet = (state: State): boolean =>
  state.sessions.every((session, index) => {
    if (session.status !== 'ready') return session.status !== 'starting';
    const runner = runnerOf(state, index, session.epoch);
    return session.left > 0 && runner?.state === 'leased' && serves(runner);
  }) &&
  state.runners.every(runner => {
    if (runner.state === 'leased') return state.sessions[runner.session]?.epoch === runner.epoch && serves(runner);
    if (runner.state === 'warm') return runner.phase === 'fresh' && runner.boot === runner.processBoot;
    return runner.state === 'none' && runner.pod === 'none';
  });
