import type * as z from 'zod';
import { assignAnswer, drainAnswer, type RunnerHealth, runnerHealth } from '../../contract/assignment.ts';
import { httpCalls } from '../../http/call.ts';
import { problemClient } from '../../http/problem-client.ts';
import type { RunnerLink } from '../ports/runner-link.ts';

/** One for all calls: a look whether a runner is warm has left it a connection that the assignment takes. */
const send = httpCalls();

/** What a runner says at /healthz. Null: it does not answer, not yet or not any more. */
export async function healthOf(endpoint: string, signal: AbortSignal): Promise<RunnerHealth | null> {
  try {
    const { text } = await send(`${endpoint}/healthz`, { method: 'GET' }, signal);
    return runnerHealth.parse(JSON.parse(text));
  } catch {
    return null; // no answer is the answer
  }
}

/** Speaks HTTP to runners. */
export function httpRunnerLink(): RunnerLink {
  const post = async <T>(endpoint: string, path: string, token: string, answer: z.ZodType<T>, timeoutMs: number) => {
    const call = problemClient(
      { url: endpoint, name: 'The runner', unreachable: 'runner_start_failed', garbled: 'runner_start_failed' },
      send,
    );
    return (await call({ method: 'POST', path, body: { token }, answer, timeoutMs })).value;
  };
  return {
    assign: (endpoint, token, timeoutMs) => post(endpoint, '/assign', token, assignAnswer, timeoutMs),
    async drain(endpoint, token, timeoutMs) {
      await post(endpoint, '/drain', token, drainAnswer, timeoutMs);
    },
    async phase(endpoint, timeoutMs) {
      const health = await healthOf(endpoint, AbortSignal.timeout(timeoutMs));
      return health?.phase ?? null;
    },
  };
}
