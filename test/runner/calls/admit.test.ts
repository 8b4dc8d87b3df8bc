import { expect, test } from 'vitest';
import { admit } from '../../../runner/calls/admit.ts';
import type { Call } from '../../../runner/calls/stage.ts';
import { answering, codeOf, stageCall, text, toolNamed, unreached } from './stage-call.ts';

const lease = (isOver = false) => ({
  lifetime: { isOver: () => isOver, callStarted: () => () => undefined, stop: () => undefined },
  available: new Map([['browser_click', toolNamed('browser_click')]]),
  policy: { lists: () => true } as never,
  isOwnName: (given: unknown) => given === undefined || given === 'mine',
  snapshot: 'changes' as const,
  tokensMax: 4_000,
});
const asked = (name: string, given: Record<string, unknown> = {}): Call => ({ ...stageCall({ given }), name });

test('a call of an unknown tool, of another session or with a wrong option is refused', async () => {
  const stage = admit(lease());
  const refused = async (call: Call) => codeOf(await stage(call, unreached));
  expect(await refused(asked('browser_clack'))).toBe('unknown_tool');
  expect(await refused(asked('browser_click', { sessionId: 'yours' }))).toBe('session_mismatch');
  expect(await refused(asked('browser_click', { snapshot: 'some' }))).toBe('invalid_arguments');
  expect(await refused(asked('browser_click', { tokensMax: 1 }))).toBe('invalid_arguments');
});

test('after the end of the lease no call is admitted', async () => {
  expect(codeOf(await admit(lease(true))(asked('browser_click'), unreached))).toBe('lease_ended');
});

test('the tool gets its own arguments, the options of every call are taken out', async () => {
  const call = asked('browser_click', { target: 'e1', sessionId: 'mine', snapshot: 'none' });
  await admit(lease())(call, answering(text('clicked')));
  expect(call.admitted?.args).toEqual({ target: 'e1' });
  expect(call.admitted?.view).toEqual({ snapshot: 'none', tokensMax: 4_000 });
});
