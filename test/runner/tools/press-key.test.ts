import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { CODE_META } from '../../../contract/tool-failure.ts';
import { textResult } from '../../../runner/results/result.ts';
import type { BrowserCall } from '../../../runner/tools/playwright-form.ts';
import { pressKey } from '../../../runner/tools/press-key.ts';

/** Calls the tool on a page that remembers its keys; `asked`: Playwright MCP answers in its place. */
async function pressed(args: Record<string, unknown>) {
  const done: string[] = [];
  const keyboard = {
    press: async (key: string) => void done.push(`press ${key}`),
    type: async (text: string) => void done.push(`type ${text}`),
  };
  const call: Pick<BrowserCall, 'act' | 'ask'> = {
    act: (_args, action) => action({ keyboard } as unknown as Page, new AbortController().signal),
    ask: async () => textResult('asked'),
  };
  return { done, result: await pressKey.playwright.run(args, call as BrowserCall) };
}

test('presses keys by their names, with their modifiers, and types characters that no key has', async () => {
  expect((await pressed({ key: 'Control+A' })).done).toEqual(['press Control+A']);
  expect((await pressed({ key: 'Escape' })).done).toEqual(['press Escape']);
  expect((await pressed({ key: 'é' })).done).toEqual(['type é']);
});

test('says that a key of the browser itself reloads nothing', async () => {
  for (const key of ['F5', 'Ctrl+R', 'cmd+shift+r', 'Alt+Left'])
    expect(JSON.stringify((await pressed({ key })).result), key).toContain('nothing is reloaded');
  expect((await pressed({ key: 'F6' })).result.content).toEqual([]);
});

test('refuses the name of no key, with keys that there are', async () => {
  const { done, result } = await pressed({ key: 'Submit' });
  expect(done).toEqual([]);
  expect(result._meta?.[CODE_META]).toBe('invalid_arguments');
  expect(JSON.stringify(result.content)).toContain('Enter');
});

test('leaves arguments that do not fit to Playwright MCP, which says so in its words', async () => {
  expect((await pressed({ key: 7 })).result).toEqual(textResult('asked'));
});
