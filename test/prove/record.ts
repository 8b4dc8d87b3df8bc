import type { Change } from './change-log.ts';

/** Steps of one moment have consecutive numbers, and run at once where there are several. */
export const STEPS_A_MOMENT = 8;

/** Sizes of a history's world. */
export interface Setup {
  readonly capacity: number;
  readonly userLimit: number;
  readonly users: number;
  readonly conversations: number;
  /** Warm runners that the pool keeps. */
  readonly idle: number;
  readonly evicts: boolean;
  readonly hibernates: boolean;
}

/** Seconds of all histories. */
export const SECONDS = { ttl: 60, maxSession: 600, claim: 15, start: 120, keep: 3_600, work: 30 } as const;

/** One call of the store, and its answer. */
export interface Step {
  readonly step: number;
  /** Name of the act, e.g. `ask`, `redeem`, `expire`. */
  readonly act: string;
  /** Another step ran at the same time. */
  readonly raced: boolean;
  /** Its arguments, as far as the rules speak of them. */
  readonly about: Readonly<Record<string, unknown>>;
  readonly answer?: unknown;
  /** Times before and after it: they differ where time passed while it waited for a lock. */
  readonly askedAt: number;
  readonly at: number;
  /** Runners that may serve an agent once the step is over, by their own clocks. */
  readonly serving: readonly Serving[];
}

export interface Serving {
  readonly runner: string;
  readonly session: string;
  readonly epoch: number;
}

/** All that one history did, for the rules. */
export interface HistoryRecord {
  readonly setup: Setup;
  readonly provider: string;
  readonly template: string;
  /** Null: whole controllers made the changes, and their steps were not written down. */
  readonly steps: readonly Step[] | null;
  readonly changes: readonly Change[];
  /** Errors that no step may throw: of guards, of deadlocks. */
  readonly errors: readonly string[];
}

export interface Violation {
  readonly rule: string;
  readonly step: number | null;
  readonly detail: string;
}
