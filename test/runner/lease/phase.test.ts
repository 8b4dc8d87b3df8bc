import { pino } from 'pino';
import { expect, test } from 'vitest';
import { OmicronError } from '../../../contract/problem.ts';
import { NEXT_RUNNER_PHASES, RUNNER_PHASES } from '../../../contract/states.ts';
import { nextPhase, type PhaseEvent, phaseMachine } from '../../../runner/lease/phase.ts';

const EVENTS: PhaseEvent[] = ['launched', 'assigned', 'redeemed', 'failed', 'stopped'];

test('every move is one of the table, and every move of the table has an event', () => {
  for (const phase of RUNNER_PHASES) {
    const reached = EVENTS.map(event => nextPhase(phase, event)).filter(next => next !== undefined);
    expect(reached.sort(), phase).toEqual([...NEXT_RUNNER_PHASES[phase]].sort());
  }
});

test('an event that comes too late, or a second time, changes nothing', () => {
  expect(nextPhase('draining', 'failed')).toBeUndefined();
  expect(nextPhase('draining', 'stopped')).toBeUndefined();
  expect(nextPhase('failed', 'launched')).toBeUndefined();
  expect(nextPhase('failed', 'assigned')).toBeUndefined();
  expect(nextPhase('leased', 'assigned')).toBeUndefined();
  expect(nextPhase('launching', 'assigned')).toBeUndefined();
});

test('the first failure is the one that is reported', () => {
  const lines: Record<string, unknown>[] = [];
  const log = pino({ base: {} }, { write: line => lines.push(JSON.parse(line)) });
  const machine = phaseMachine(log, () => ({ session_id: 's' }));
  expect(machine.enter('launched')).toBe(true);
  expect(machine.fail(new OmicronError('browser_crashed', 'first'))).toBe(true);
  expect(machine.fail(new OmicronError('runner_start_failed', 'second'))).toBe(false);
  expect(machine.enter('stopped', { reason: 'SIGTERM' })).toBe(true);
  expect([machine.phase, machine.failure?.message]).toEqual(['draining', 'first']);
  expect(lines).toMatchObject([
    { phase: 'warm', was: 'launching', session_id: 's' },
    { phase: 'failed', was: 'warm', code: 'browser_crashed' },
    { phase: 'draining', was: 'failed', reason: 'SIGTERM' },
  ]);
});
