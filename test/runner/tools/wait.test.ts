import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { CODE_META } from '../../../contract/tool-failure.ts';
import { textOf } from '../../../runner/results/result.ts';
import type { PageContext } from '../../../runner/tools/custom-form.ts';
import { wait } from '../../../runner/tools/wait.ts';

/** Calls the tool on a page whose elements become visible when they are waited for. */
async function waited(args: Record<string, unknown>, signal = new AbortController().signal) {
  const asked: unknown[] = [];
  const waitFor = async (options: unknown) => {
    asked.push(options);
  };
  const page = {
    url: () => 'https://shop.test/',
    title: async () => 'Shop',
    locator: (selector: string) => {
      asked.push(selector);
      return { first: () => ({ waitFor }) };
    },
  };
  const context = { page: page as unknown as Page, signal } as PageContext; // all that the tool uses
  return { asked, result: await wait.custom.run(args, context) };
}

test('waits until an element is visible, for as long as the call says', async () => {
  const { asked, result } = await waited({ selector: '#done', ms: 200 });
  expect(asked).toEqual(['#done', { state: 'visible', timeout: 200 }]);
  expect(JSON.parse(textOf(result))).toEqual({ success: true, url: 'https://shop.test/', title: 'Shop' });
});

test('refuses a call that names nothing to wait for, or that waits for too long', async () => {
  for (const args of [{}, { ms: 30_001 }])
    expect((await waited(args)).result._meta?.[CODE_META]).toBe('invalid_arguments');
});

test('ends with its call', async () => {
  await expect(waited({ ms: 30_000 }, AbortSignal.abort())).rejects.toThrow('aborted');
});
