import { expect } from 'vitest';
import { PROBLEM_TYPE, PROBLEMS, type ProblemCode } from '../../../contract/problem.ts';
import { type Answer, problemOf } from '../stack.ts';

/** Sent in bad requests; must never come back. */
export const SECRET = 'hunter2-must-not-be-echoed';

/** Asserts a whole problem document of this code that shows nothing of the inside, of a token or of `SECRET`. */
export function expectProblem(answer: Answer, code: ProblemCode): void {
  expect(answer.body).toMatchObject({
    code,
    status: PROBLEMS[code].status,
    type: `https://github.com/example/omicron-browser/blob/main/docs/reference/errors.md#${code}`,
  });
  expect(answer.status).toBe(PROBLEMS[code].status);
  expect(answer.headers.get('content-type')).toContain(PROBLEM_TYPE);
  const problem = problemOf(answer);
  expect(problem.detail.length).toBeGreaterThan(10);
  const whole = JSON.stringify(answer.body);
  for (const leak of [SECRET, '    at ', 'node_modules', '.ts:', 'select ', 'omicron.', 'eyJ'])
    expect(whole).not.toContain(leak);
}
