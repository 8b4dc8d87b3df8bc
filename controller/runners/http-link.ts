import { assignAnswer, drainAnswer, type RunnerHealth, runnerHealth } from '../../contract/assignment.ts';
import { OmicronError, problemSchema } from '../../contract/problem.ts';
import { type HttpAnswer, httpCalls } from '../../http/call.ts';
import type { RunnerLink } from '../ports/runner-link.ts';

/** One for all calls: whoever looked whether a runner was warm has left it a connection that the assignment takes. */
const call = httpCalls();

/** What a runner says at /healthz. Null: it does not answer, not yet or not any more. */
export async function healthOf(endpoint: string, signal: AbortSignal): Promise<RunnerHealth | null> {
  try {
    const { text } = await call(`${endpoint}/healthz`, { method: 'GET' }, signal);
    return runnerHealth.parse(JSON.parse(text));
  } catch {
    return null; // no answer is the answer
  }
}

/** Speaks HTTP to runners. */
export function httpRunnerLink(): RunnerLink {
  const post = async (url: string, token: string, timeoutMs: number): Promise<unknown> => {
    let response: HttpAnswer;
    let body: unknown;
    try {
      const order = {
        method: 'POST' as const,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ token }),
      };
      response = await call(url, order, AbortSignal.timeout(timeoutMs));
      body = JSON.parse(response.text);
    } catch (cause) {
      throw new OmicronError('runner_start_failed', `The runner did not answer within ${timeoutMs / 1000} s.`, {
        cause,
      });
    }
    if (response.status === 200) return body;
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
      const health = await healthOf(endpoint, AbortSignal.timeout(timeoutMs));
      return health?.phase ?? null;
    },
  };
}
