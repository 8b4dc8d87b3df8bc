import { expect, test } from 'vitest';
import type { CallLease } from '../../../runner/calls/call-lease.ts';
import { secrecy } from '../../../runner/calls/secrecy.ts';
import { actingTool, answering, codeOf, stageCall, text, unreached } from './stage-call.ts';

const REFUSAL = { code: 'secret_on_page', why: 'It is closed.', instead: 'Leave it.' };

/** Refuses from the call of this number on. */
function lease(refusedFrom: number) {
  let asked = 0;
  const parts = {
    tools: { documents: { isGuarding: () => true } },
    rules: { refusal: async () => (++asked >= refusedFrom ? REFUSAL : undefined) },
    browser: {
      onPage: async (_bounds: object, _signal: AbortSignal, work: (page: object) => Promise<object>) => work({}),
    },
  };
  return { stage: secrecy(parts as unknown as CallLease), asked: () => asked }; // as much of a lease as the stage reads
}

test('a call that the rules refuse does not run', async () => {
  expect(codeOf(await lease(1).stage(stageCall(), unreached))).toBe('secret_on_page');
});

test('the answer of a call during which a page with a secret came is not given', async () => {
  const { stage } = lease(2);
  const result = await stage(stageCall(), answering(text('what the page holds')));
  expect(codeOf(result)).toBe('secret_on_page');
  expect(JSON.stringify(result)).toContain('came while the call ran');
  expect(JSON.stringify(result)).not.toContain('what the page holds');
});

test('a tool that fills is asked once, one that ends dialogs never', async () => {
  const filling = lease(2);
  await filling.stage(stageCall({ tool: actingTool({ effect: 'fills' }) }), answering(text('filled')));
  expect(filling.asked()).toBe(1);
  const exempt = lease(1);
  await exempt.stage(stageCall({ tool: actingTool({ whileTainted: 'exempt' }) }), answering(text('closed')));
  expect(exempt.asked()).toBe(0);
});
