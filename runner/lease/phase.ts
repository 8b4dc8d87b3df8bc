import type { Logger } from 'pino';
import type { OmicronError } from '../../contract/problem.ts';
import { NEXT_RUNNER_PHASES, type RunnerPhase } from '../../contract/states.ts';

/** Events in the life of a runner. */
export type PhaseEvent = 'launched' | 'assigned' | 'redeemed' | 'failed' | 'stopped';

const PHASE_AFTER = {
  launched: 'warm',
  assigned: 'assigning',
  redeemed: 'leased',
  failed: 'failed',
  stopped: 'draining',
} as const satisfies Record<PhaseEvent, RunnerPhase>;

/** The phase after an event; undefined: the event changes nothing in this phase. */
export function nextPhase(phase: RunnerPhase, event: PhaseEvent): RunnerPhase | undefined {
  const next = PHASE_AFTER[event];
  const moves: readonly RunnerPhase[] = NEXT_RUNNER_PHASES[phase];
  return moves.includes(next) ? next : undefined;
}

/** The phase of one runner, and why it failed. */
export interface PhaseMachine {
  readonly phase: RunnerPhase;
  readonly failure: OmicronError | undefined;
  /** False: the event changes nothing in this phase. */
  enter(event: Exclude<PhaseEvent, 'failed'>, details?: Record<string, unknown>): boolean;
  fail(error: OmicronError): boolean;
}

/** Starts at `launching`; logs every move, with what `about` answers then. */
export function phaseMachine(log: Logger, about: () => Record<string, unknown>): PhaseMachine {
  let phase: RunnerPhase = 'launching';
  let failure: OmicronError | undefined;
  const move = (event: PhaseEvent, details: Record<string, unknown> = {}): boolean => {
    const next = nextPhase(phase, event);
    if (next === undefined) return false;
    log.info({ phase: next, was: phase, ...about(), ...details }, 'phase');
    phase = next;
    return true;
  };
  return {
    get phase() {
      return phase;
    },
    get failure() {
      return failure;
    },
    enter: move,
    fail(error) {
      const failed = move('failed', { code: error.code, detail: error.message });
      if (failed) failure = error;
      return failed;
    },
  };
}
