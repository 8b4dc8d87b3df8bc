import { expect, test } from 'vitest';
import { leavePage } from '../../../runner/calls/leave-page.ts';
import { failure } from '../../../runner/results/result.ts';
import type { PlaywrightConnection } from '../../../runner/upstream/connection.ts';
import { fakeGuard, fakeTabs } from './fake-tabs.ts';
import { answering, text } from './stage-call.ts';

/** A tab that shows these dialogs, one after the other. */
function leaving(dialogs: string[] = [], asksToLeave = false) {
  const open = { dialogs };
  const answers: unknown[] = [];
  const { page } = fakeTabs();
  const { guard, closed } = fakeGuard(open, asksToLeave);
  const connection: Pick<PlaywrightConnection, 'request'> = {
    async request(_name, { accept }) {
      answers.push(accept);
      open.dialogs = open.dialogs.slice(1);
      return text('answered');
    },
  };
  const signal = new AbortController().signal;
  const parts = { current: async () => page, guard, connection: connection as PlaywrightConnection, signal };
  return { parts, answers, closed };
}
const there = answering(text('there'));

test('a dialog that holds the page back is dismissed, the one that asks whether to leave is accepted', async () => {
  for (const [asksToLeave, answer] of [
    [false, false],
    [true, true],
  ] as const) {
    const { parts, answers, closed } = leaving(['Sure?'], asksToLeave);
    expect(await leavePage(parts, there)).toEqual(text('there'));
    expect({ answers, closed }).toEqual({ answers: [answer], closed: [] });
  }
});

test('a tab that opens one dialog after the other is closed', async () => {
  const { parts, closed } = leaving(Array.from({ length: 4 }, () => 'Again?'));
  await leavePage(parts, there);
  expect(closed).toContain('it opened one dialog after the other');
});

test('if the tab goes away meanwhile, the next one is left instead', async () => {
  const { parts, closed } = leaving();
  const outcomes = [failure('Target crashed'), text('there')];
  const left = await leavePage(parts, async () => outcomes.shift() ?? failure('asked too often'));
  expect(left).toEqual(text('there'));
  expect(closed).toHaveLength(1);
});

test('another failure is passed on, and no tab is closed', async () => {
  const { parts, closed } = leaving();
  const refused = failure('net::ERR_NAME_NOT_RESOLVED');
  expect(await leavePage(parts, answering(refused))).toBe(refused);
  await expect(leavePage(parts, () => Promise.reject(new Error('late')))).rejects.toThrow('late');
  expect(closed).toEqual([]);
});
