import { expect, it } from 'vitest';
import { API_PROBLEMS, CLIENT_PROBLEMS, OmicronError, problemSchema } from '../../contract/problem.ts';

it('answers every error of the API under its own code, and an error of the process as a client as internal_error', () => {
  for (const code of Object.keys(API_PROBLEMS) as (keyof typeof API_PROBLEMS)[])
    expect(problemSchema.parse(new OmicronError(code, 'Why.').toProblem())).toMatchObject({ code, detail: 'Why.' });
  for (const code of Object.keys(CLIENT_PROBLEMS) as (keyof typeof CLIENT_PROBLEMS)[]) {
    expect(problemSchema.shape.code.safeParse(code).success, code).toBe(false);
    expect(new OmicronError(code, 'Why.').toProblem()).toMatchObject({ code: 'internal_error', status: 500 });
  }
});
