import { CLICK_SOLVERS } from './solve-clicks.ts';
import { SITE_SOLVERS } from './solve-sites.ts';
import { TEXT_SOLVERS } from './solve-texts.ts';
import type { Task } from './task.ts';

/** The first that fits a goal; undefined: no solver knows the goal. */
export const solverOf = (goal: string): ((task: Task) => Promise<void>) | undefined => {
  for (const [wanted, solve] of [...CLICK_SOLVERS, ...TEXT_SOLVERS, ...SITE_SOLVERS]) {
    const found = wanted.exec(goal);
    if (found !== null) return task => solve(task, ...found.slice(1).map(each => each ?? ''));
  }
  return undefined;
};
