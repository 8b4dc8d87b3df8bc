import { assignAnswer, drainAnswer, runnerHealth } from '../../contract/assignment.ts';
import { OmicronError, problemSchema } from '../../contract/problem.ts';
import type { RunnerLink } from '../ports/runner-link.ts';

/** Speaks HTTP to runners. */
export function httpRunnerLink(): RunnerLink {
  const post = async (url: string, token: string, timeoutMs: number): Promise<unknown> => {
    let response: Response;
    let body: unknown;
    try {
      response = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ token }),
        signal: AbortSignal.timeout(timeoutMs),
      });
      body = await response.json();
    } catch (cause) {
      throw new OmicronError('runner_start_failed', `The runner did not answer within ${timeoutMs / 1000} s.`, {
        cause,
      });
    }
    if (response.ok) return body;
    const problem = problemSchema.safeParse(body);
    if (problem.success) throw OmicronError.fromProblem(problem.data);
    throw new OmicronError('runner_start_failed', `The runner answered ${response.status}.`);
  };
  return {
    assign: async (endpoint, token, timeoutMs) =>
      assignAnswer.parse(await post(`${endpoint}/assign`, token, timeoutMs)),
    async drain(endpoint, token, timeoutMs) {
      drainAnswer.parse(await post(`${endpoint}/drain`, token, timeoutMs));
    },
    async phase(endpoint, timeoutMs) {
      try {
        const response = await fetch(`${endpoint}/healthz`, { signal: AbortSignal.timeout(timeoutMs) });
        return runnerHealth.parse(await response.json()).phase;
      } catch {
        return null; // no answer is the answer
      }
    },
  };
}
