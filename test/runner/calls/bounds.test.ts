import { SdkError, SdkErrorCode } from '@modelcontextprotocol/client';
import { expect, test } from 'vitest';
import type { RunnerBrowser } from '../../../runner/browser/browser.ts';
import { callBounds, workOnPage } from '../../../runner/calls/bounds.ts';
import { failure, textOf } from '../../../runner/results/result.ts';
import { fakeGuard, fakeTabs } from './fake-tabs.ts';
import { answering, codeOf, text } from './stage-call.ts';

const never = new AbortController().signal;

function boundsOf(isGuarding = false) {
  const { context } = fakeTabs();
  const gone = Promise.withResolvers<void>();
  const ended = { why: undefined as string | undefined, is: false };
  const browser = { context, gone: gone.promise, isGone: () => ended.is, whyEnded: () => ended.why };
  const bounds = callBounds(browser as unknown as RunnerBrowser, fakeGuard().guard, () => isGuarding);
  const end = (why?: string) => {
    Object.assign(ended, { why, is: true });
    gone.resolve();
  };
  return { bounds, end };
}

test('a call ends with its browser, and says why that ended', async () => {
  const { bounds, end } = boundsOf();
  const running = bounds.bounded('browser_click', 5, never, () => new Promise(() => undefined));
  end('it used more than 700 MB');
  expect(codeOf(await running)).toBe('browser_crashed');
  expect(textOf(await running)).toContain('was ended: it used more than 700 MB');
  expect(codeOf(await bounds.bounded('browser_click', 5, never, answering(text('clicked'))))).toBe('browser_crashed');
});

test('a failure is a result: given up, cancelled, or in its own words', async () => {
  const { bounds } = boundsOf();
  const failing = (error: Error, signal = never) =>
    bounds.bounded('browser_click', 5, signal, () => Promise.reject(error));
  const late = await failing(new SdkError(SdkErrorCode.RequestTimeout, 'late'));
  expect(codeOf(late)).toBe('browser_action_timeout:browser_click:5s');
  expect(codeOf(await failing(new Error('gone'), AbortSignal.abort()))).toBe('call_cancelled');
  const thrown = await failing(new Error('strict mode violation'));
  expect([thrown.isError, codeOf(thrown)]).toEqual([true, 'action_failed']);
  expect(textOf(thrown)).toContain('strict mode violation');
});

test('a time-out of Playwright names the seconds that it had', () => {
  const { bounds } = boundsOf();
  const result = bounds.explained('browser_click', failure('Timeout 5000ms exceeded.\nCall log: waiting'));
  expect(codeOf(result)).toBe('browser_action_timeout:browser_click:5s');
});

test('once a secret was filled in, a failure quotes no element', () => {
  const quoted = failure('resolved to <b title="a">hunter2</b> aka locator("b")\nnext line');
  expect(textOf(boundsOf(true).bounds.explained('browser_click', quoted))).toBe('resolved to <element>\nnext line');
  expect(textOf(boundsOf(false).bounds.explained('browser_click', quoted))).toContain('hunter2');
});

test('work that a dialog holds, or that is cancelled, is no longer awaited, and its signal aborts', async () => {
  const tabs = fakeTabs();
  const open = { dialogs: [] as string[] };
  const { guard } = fakeGuard(open);
  const aborted: boolean[] = [];
  const begun = Promise.withResolvers<void>();
  const hanging = (_page: unknown, signal: AbortSignal) => {
    signal.addEventListener('abort', () => aborted.push(true));
    begun.resolve();
    return new Promise<never>(() => undefined);
  };
  const cancel = new AbortController();
  const cancelled = workOnPage(tabs.page, guard, { seconds: 60, signal: cancel.signal }, hanging);
  await begun.promise;
  cancel.abort();
  expect(codeOf(await cancelled)).toBe('call_cancelled');

  const interrupted = workOnPage(tabs.page, guard, { seconds: 60, signal: never }, hanging);
  await Promise.resolve();
  open.dialogs = ['Sure?'];
  tabs.emit('dialog', {});
  expect(codeOf(await interrupted)).toBe('dialog_open');
  expect(aborted).toEqual([true, true]);
});

test('work on a page with a dialog does not begin', async () => {
  const { guard } = fakeGuard({ dialogs: ['Sure?'] });
  const begin = () => Promise.reject(new Error('It began.'));
  expect(codeOf(await workOnPage(fakeTabs().page, guard, { seconds: 60, signal: never }, begin))).toBe('dialog_open');
});
