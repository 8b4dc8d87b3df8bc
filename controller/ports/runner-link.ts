import type { AssignAnswer } from '../../contract/assignment.ts';
import type { RunnerPhase } from '../../contract/states.ts';

/** The controller's calls to one runner. Throws what the runner answered, or `runner_start_failed` when it did not answer. */
export interface RunnerLink {
  /** Idempotent: the same token gets the same answer. */
  assign(endpoint: string, token: string, timeoutMs: number): Promise<AssignAnswer>;
  /** Resolves when the runner serves nobody any more. */
  drain(endpoint: string, token: string, timeoutMs: number): Promise<void>;
  /** Null: it does not answer. */
  phase(endpoint: string, timeoutMs: number): Promise<RunnerPhase | null>;
}
