import * as z from 'zod';
import type { Database } from '../ports/database.ts';
import { callFunction } from './call.ts';

/** Tables of which rows are removed. */
export const PRUNED_TABLES = [
  ...['session_events', 'browser_sessions', 'runners'],
  ...['artifacts', 'user_actions', 'policies'],
] as const;

const pruned = z
  .object({
    /** Whether rows past their time may be left. */
    more: z.boolean().nullable(),
    /** Position at which the next batch begins. */
    after: z.json(),
    /** Removed rows by table. */
    rows: z.record(z.string(), z.int()),
  })
  .nullable();
export type Pruned = z.infer<typeof pruned>;

/** Removes rows past their retention, a batch a call. Null: another replica removes rows now. */
export interface Pruning {
  /** `after`: the place that the batch before has answered; null: from the oldest. */
  events(days: number, after: unknown): Promise<Pruned>;
  /** Ended sessions with all that belongs to them; of others what is old. */
  sessions(days: number, after: unknown): Promise<Pruned>;
  /** Runners that never had a lease. */
  runners(days: number): Promise<Pruned>;
}

/** Sizes of a batch: less than 200 ms of Postgres each. */
const EVENTS = 2_000;
const SESSIONS = 200;
const RUNNERS = 1_000;

export function sqlPruning(database: Database): Pruning {
  const prune = async (name: string, args: Readonly<Record<string, unknown>>) =>
    pruned.parse(await callFunction(database, name, args));
  return {
    events: (days, after) => prune('prune_events', { p_days: days, p_after: after ?? 0, p_most: EVENTS }),
    sessions: (days, after) =>
      prune('prune_sessions', { p_days: days, p_after: after ? JSON.stringify(after) : null, p_most: SESSIONS }),
    runners: days => prune('prune_runners', { p_days: days, p_most: RUNNERS }),
  };
}
