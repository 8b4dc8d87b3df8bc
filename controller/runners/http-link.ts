import type * as z from 'zod';
import { assignAnswer, drainAnswer, runnerHealth } from '../../contract/assignment.ts';
import { hibernateAnswer } from '../../contract/hibernation.ts';
import { profileCheck, profileSaved } from '../../contract/profile.ts';
import type { HttpCall } from '../../http/call.ts';
import { problemClient } from '../../http/problem-client.ts';
import { inSpan, withTraceHeaders } from '../../process/tracing.ts';
import type { Clock } from '../../time/clock.ts';
import type { RunnerLink } from '../ports/runner-link.ts';

/**
 * Speaks HTTP to runners. With one `send` for all: a check whether a runner is warm leaves its connection to the
 * assignment.
 */
export function httpRunnerLink({ send, clock }: { send: HttpCall; clock: Clock }): RunnerLink {
  const post = async <T>(endpoint: string, path: string, token: string, answer: z.ZodType<T>, timeoutMs: number) => {
    const { hostname, port } = new URL(endpoint);
    const attributes = {
      'http.request.method': 'POST',
      'url.template': path,
      'server.address': hostname,
      'server.port': port,
    };
    return inSpan(`POST ${path}`, { kind: 'client', attributes }, async span => {
      const call = problemClient(
        { url: endpoint, name: 'The runner', unreachable: 'runner_start_failed', garbled: 'runner_start_failed' },
        async (url, request, signal) => {
          const answered = await send(url, withTraceHeaders(request), signal);
          span.set({ 'http.response.status_code': answered.status });
          return answered;
        },
        clock,
      );
      return (await call({ method: 'POST', path, body: { token }, answer, timeoutMs })).value;
    });
  };
  return {
    assign: (endpoint, token, timeoutMs) => post(endpoint, '/assign', token, assignAnswer, timeoutMs),
    async drain(endpoint, token, timeoutMs) {
      await post(endpoint, '/drain', token, drainAnswer, timeoutMs);
    },
    saveProfile: (endpoint, token, timeoutMs) => post(endpoint, '/save-profile', token, profileSaved, timeoutMs),
    async hibernate(endpoint, token, timeoutMs) {
      await post(endpoint, '/hibernate', token, hibernateAnswer, timeoutMs);
    },
    checkLogin: (endpoint, token, timeoutMs) => post(endpoint, '/check-login', token, profileCheck, timeoutMs),
    async healthOf(endpoint, signal) {
      try {
        const { text } = await send(`${endpoint}/healthz`, { method: 'GET' }, signal);
        return runnerHealth.parse(JSON.parse(text));
      } catch {
        return null; // no answer is the answer
      }
    },
  };
}
