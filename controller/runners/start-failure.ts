import type { RunnerHealth } from '../../contract/assignment.ts';
import { OmicronError } from '../../contract/problem.ts';

/** Why a runner that says `failed` did not start. */
export function startFailureOf({ error }: RunnerHealth): OmicronError {
  const code = error?.code === 'sandbox_runtime_required' ? error.code : 'runner_start_failed';
  return new OmicronError(code, error?.detail ?? 'The browser did not start.');
}
