import { describe, expect, test } from 'vitest';
import { judgeRedeem } from './database.ts';
import { explore, kindOf } from './explore.ts';
import { leaseProtocol } from './protocol.ts';
import type { State } from './state.ts';
import { SMALL, type World } from './world.ts';

/** Kinds of steps, by the first word of their names. */
const KINDS = [
  ...['acquire', 'claim', 'inherit', 'beat', 'fail', 'beginAssign', 'assign', 'answered', 'ready', 'redeemReady'],
  ...['DELETE', 'heartbeat', 'tick', 'stuck', 'expire', 'pool', 'create', 'created', 'up', 'lost', 'suspected'],
  ...['assigned', 'asks', 'redeem', 'refused', 'opens', 'report', 'activity', 'told', 'drained', 'acknowledged'],
  ...['dies', 'removed', 'gone', 'saves', 'givesUp', 'hibernate', 'forget'],
];

describe('the whole lease protocol', () => {
  test('takes every kind of step', () => {
    const { kinds } = explore(leaseProtocol({ ...SMALL, permits: 1, hibernates: true }), {
      statesMax: 100_000,
    });
    expect(KINDS.filter(kind => !kinds.has(kind))).toEqual([]);
  });
});

/** The shortest way to a state of that kind: shows that the rules above were not kept by never getting there. */
function wayTo(world: World, goal: (state: State) => boolean, unused: readonly string[] = []): string[] | undefined {
  const model = leaseProtocol(world);
  const steps = (state: State) => model.steps(state).filter(({ name }) => !unused.includes(kindOf(name)));
  const broken = (state: State) => (goal(state) ? ['goal'] : []);
  return explore({ ...model, steps, broken }, { statesMax: 1_000_000, watch: 'goal' }).violation?.trace;
}

describe('the model gets to', () => {
  const warm = { ...SMALL, warm: 2 };

  test('a successor that waits for its predecessor', () => {
    const waits = (state: State): boolean =>
      state.runners.some(({ job, ...runner }) => job !== null && runner.phase === 'redeeming' && judged(state, job));
    const judged = (state: State, job: NonNullable<State['runners'][number]['job']>): boolean =>
      state.runners.some(runner => runner.job === job && judgeRedeem(state, warm, runner, job) === 'wait');
    expect(wayTo(warm, waits)).toHaveLength(8);
  });

  test('a ready successor of a runner that says nothing any more, once two ticks have passed', () => {
    const fenced = (state: State): boolean =>
      state.sessions.some(({ status, epoch }) => status === 'ready' && epoch === 2) &&
      state.runners.some(({ served }) => served?.epoch === 1);
    const silent = ['drained', 'acknowledged', 'dies', 'removed', 'lost'];
    expect(wayTo(warm, fenced, silent)?.filter(step => step === 'tick')).toHaveLength(2);
  });

  test('two sessions that are served at once', () => {
    const both = (state: State): boolean => state.runners.filter(({ phase }) => phase === 'open').length === 2;
    expect(wayTo({ ...warm, sessions: 2, callers: 1, epochs: 1, quota: 2 }, both)).toBeDefined();
  });
});
