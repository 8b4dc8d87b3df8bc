import type { RunnerState } from './states.ts';

/** Answer of `GET /fleet`: the use of the deployment now, for the console. */
export interface FleetCounts {
  active_sessions: number;
  starting_sessions: number;
  /** Runners that may exist at once. */
  capacity: number;
  /** Runners that exist, by state. */
  runners: Partial<Record<RunnerState, number>>;
}
