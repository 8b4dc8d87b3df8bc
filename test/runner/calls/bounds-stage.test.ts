import { expect, test } from 'vitest';
import { OmicronError } from '../../../contract/problem.ts';
import { bounds } from '../../../runner/calls/bounds-stage.ts';
import type { CallLease } from '../../../runner/calls/call-lease.ts';
import { failure } from '../../../runner/results/result.ts';
import { answering, besideTool, codeOf, stageCall, text, toolNamed } from './stage-call.ts';

const named: [string, number][] = [];
const stage = bounds({
  browser: {
    parts: {
      bounded: (name: string, seconds: number, _signal: AbortSignal, work: () => Promise<object>) => {
        named.push([name, seconds]);
        return work();
      },
    },
  },
} as unknown as CallLease); // as much of a lease as the stage reads
const beside = (run: () => Promise<never>, signal?: AbortSignal) =>
  stage(stageCall({ tool: besideTool(run), ...(signal && { signal }) }), run);

test('a call on the page has the seconds of its tool', async () => {
  await stage(stageCall({ tool: toolNamed('browser_navigate') }), answering(text('there')));
  expect(named).toEqual([['browser_navigate', 45]]);
});

test('a failure of a tool of our own has the form of a refusal, one of Playwright MCP its words', async () => {
  const failed = answering(failure('Element is not attached'));
  expect(codeOf(await stage(stageCall({ tool: toolNamed('browser_scroll') }), failed))).toBe('action_failed');
  expect(codeOf(await stage(stageCall({ tool: toolNamed('browser_hover') }), failed))).toBeUndefined();
});

test('a tool beside the page fails with the code of its error, or because it was cancelled', async () => {
  const refuse = async (): Promise<never> => {
    throw new OmicronError('profile_not_found', 'No profile.');
  };
  expect(codeOf(await beside(refuse))).toBe('profile_not_found');
  expect(codeOf(await beside(refuse, AbortSignal.abort()))).toBe('call_cancelled');
});
