import type { AssignAnswer, RunnerHealth } from '../../contract/assignment.ts';
import type { ProfileCheck } from '../../contract/profile.ts';

/**
 * The controller's calls to one runner. Throws what the runner answered, or `runner_start_failed` when it did not
 * answer.
 */
export interface RunnerLink {
  /** Idempotent: the same token gets the same answer. */
  assign(endpoint: string, token: string, timeoutMs: number): Promise<AssignAnswer>;
  /** Resolves when the runner serves no agent any more. */
  drain(endpoint: string, token: string, timeoutMs: number): Promise<void>;
  /** Saves the lease's profile now. Resolves with the version that holds it. */
  saveProfile(endpoint: string, token: string, timeoutMs: number): Promise<{ version: number }>;
  /** Resolves when the runner has brought its session's snapshot and ends. Throws `lease_in_use` when it goes on. */
  hibernate(endpoint: string, token: string, timeoutMs: number): Promise<void>;
  /** Looks at a page, whether the lease's profile is logged in there. */
  checkLogin(endpoint: string, token: string, timeoutMs: number): Promise<ProfileCheck>;
  /** Null: it does not answer, not yet or not any more. */
  healthOf(endpoint: string, signal: AbortSignal): Promise<RunnerHealth | null>;
}
