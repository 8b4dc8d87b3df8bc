import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { callText } from '../runner/start.ts';
import { startLease } from '../runner/start-lease.ts';
import { miniwobFolder } from './corpus.ts';
import { solverOf } from './solvers.ts';
import { Task } from './task.ts';

export interface TaskSight {
  readonly name: string;
  readonly goal: string;
  /** Number of seeds with which the task was solved. */
  readonly solved: number;
  readonly isScripted: boolean;
  readonly finds: number;
  readonly guesses: number;
  readonly problem: string;
}

const REWARD = "() => WOB_DONE_GLOBAL + ' ' + WOB_RAW_REWARD_GLOBAL";

/** Solves each task once per seed by what answers of tools show; the page's own reward judges. */
export async function solveTasks(origin: string, seeds: readonly number[], only: RegExp): Promise<TaskSight[]> {
  const names = readdirSync(join(miniwobFolder(), 'miniwob'))
    .filter(file => file.endsWith('.html') && only.test(file))
    .map(file => file.slice(0, -'.html'.length));
  await using lease = await startLease({ toolset: 'playwright', recordVideo: false });
  const sights: TaskSight[] = [];
  for (const name of names) {
    let [goal, solved, problem, isScripted, finds, guesses] = ['', 0, '', true, 0, 0];
    for (const seed of seeds) {
      const task = new Task(lease.client);
      try {
        await task.open(`${origin}/miniwob/miniwob/${name}.html?seed=${seed}`);
        goal = task.goal;
        const solve = solverOf(goal);
        isScripted = solve !== undefined;
        if (solve === undefined) break;
        await solve(task);
      } catch (error) {
        problem = error instanceof Error ? error.message : String(error);
      }
      finds += task.finds;
      guesses += task.guesses;
      const reward = await callText(lease.client, 'browser_evaluate', { function: REWARD });
      if (/true (?:0\.[5-9]|1)/.test(reward)) solved += 1;
      else problem ||= reward.slice(0, 80);
    }
    sights.push({ name, goal, solved, isScripted, finds, guesses, problem });
  }
  return sights;
}
