import type { CallToolResult } from '@modelcontextprotocol/server';
import { LIVE_LIMITS } from '../../contract/live-limits.ts';
import { type Clock, timeoutSignal } from '../../time/clock.ts';
import type { Control } from './control.ts';

/** Runs the calls of an agent one after the other; `work` never rejects. */
type Turn = (signal: AbortSignal, work: () => Promise<CallToolResult>) => Promise<CallToolResult>;

export interface ControlledTurnOptions {
  readonly turn: Turn;
  readonly control: Control;
  readonly clock: Clock;
  /** The answer to a call that cannot wait, or waited in vain, for the person. */
  readonly refusal: CallToolResult;
  /** The first result after it says that a person has acted. */
  readonly afterPerson: (result: CallToolResult) => CallToolResult;
}

/**
 * Turns in which no call begins while a person has control. A call waits for the person, and is refused where too many wait
 * or it would outlast its client's own time-out.
 */
export function controlledTurn({ turn, control, clock, refusal, afterPerson }: ControlledTurnOptions): Turn {
  let waiting = 0;

  /** Undefined: a person has taken control meanwhile, and `work` has not begun. */
  async function tryTurn(
    signal: AbortSignal,
    work: () => Promise<CallToolResult>,
  ): Promise<CallToolResult | undefined> {
    let held = false;
    const result = await turn(signal, async () => {
      const end = control.beginCall();
      held = end === undefined;
      if (end === undefined) return refusal;
      try {
        const acted = control.takeActed();
        const answer = await work();
        return acted ? afterPerson(answer) : answer;
      } finally {
        end();
      }
    });
    return held ? undefined : result;
  }

  return async (signal, work) => {
    const first = await tryTurn(signal, work);
    if (first !== undefined) return first;
    if (waiting >= LIVE_LIMITS.waitingCallsMax) return refusal;
    waiting += 1;
    try {
      const inTime = AbortSignal.any([signal, timeoutSignal(LIVE_LIMITS.waitingCallSeconds * 1_000, clock)]);
      for (;;) {
        await control.untilAgent(inTime).catch(() => undefined);
        if (inTime.aborted) return refusal;
        const result = await tryTurn(signal, work);
        if (result !== undefined) return result;
      }
    } finally {
      waiting -= 1;
    }
  };
}
