import { textOf } from '../../runner/results/result.ts';
import type { Step } from './case.ts';

/** Steps on the elements of the last snapshot that one of them took. */
export interface ByRef {
  /** Takes the snapshot. */
  look(step?: Omit<Step, 'tool'>): Step;
  /** Calls a tool on the element whose line, or whose place in a line, the expression matches right before its ref. */
  on(before: RegExp, step: Step): Step;
}

export function byRef(): ByRef {
  let seen = '';
  const refBehind = (before: RegExp): string => {
    const ref = new RegExp(`(?:${before.source})[^\\n|]*?\\[ref=((?:f\\d+)?e\\d+)\\]`).exec(seen)?.[1];
    if (ref === undefined) throw new Error(`No ref stands behind ${before} in ${seen}`);
    return ref;
  };
  return {
    look: (step = {}) => ({
      ...step,
      tool: 'browser_snapshot',
      async check(result) {
        seen = textOf(result);
        await step.check?.(result);
      },
    }),
    on: (before, step) => ({
      ...step,
      get args() {
        return { ...step.args, target: refBehind(before) };
      },
    }),
  };
}
