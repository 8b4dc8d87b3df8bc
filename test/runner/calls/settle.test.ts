import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { settleAction } from '../../../runner/calls/settle.ts';
import { failure } from '../../../runner/results/result.ts';
import type { Settled, SettleOptions } from '../../../runner/settle/settle.ts';
import { ANSWERS } from '../../../runner/tools/playwright-form.ts';
import { answering, text } from './stage-call.ts';

const page = {} as Page; // nothing is read of it
function settler() {
  const waited: SettleOptions<unknown>[] = [];
  const settled: Settled = (_page, action, options) => {
    waited.push((options ?? {}) as SettleOptions<unknown>);
    return action();
  };
  return { settled, waited };
}

test('waits for nothing if the page has nothing to answer', async () => {
  const { settled, waited } = settler();
  for (const settles of ['nothing', 'itself'] as const)
    await settleAction({ settled }, { settles }, page, answering(text('done')), true);
  expect(waited).toEqual([]);
});

test('the answer to an action of our own begins as its form says, that to one of Playwright MCP as it may', async () => {
  const { settled, waited } = settler();
  for (const isOwn of [true, false])
    await settleAction({ settled }, { settles: ANSWERS }, page, answering(text('done')), isOwn);
  expect(waited.map(({ firstMs, begins }) => ({ firstMs, begins }))).toEqual([
    { firstMs: 350, begins: 'asks' },
    { firstMs: 350, begins: undefined },
  ]);
});

test('no answer is awaited to an action that failed', async () => {
  const { settled, waited } = settler();
  await settleAction({ settled }, { settles: ANSWERS }, page, answering(text('done')), true);
  const [options] = waited;
  expect([options?.unless?.(failure('gone')), options?.unless?.(undefined), options?.unless?.(text('done'))]).toEqual([
    true,
    true,
    false,
  ]);
});
