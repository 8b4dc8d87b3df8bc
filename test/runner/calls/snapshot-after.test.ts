import { expect, test } from 'vitest';
import type { BrowserParts } from '../../../runner/calls/browser-work.ts';
import { addSnapshotAfter, readRecovering } from '../../../runner/calls/snapshot-after.ts';
import { failure, textOf } from '../../../runner/results/result.ts';
import { fakeGuard, fakeTabs } from './fake-tabs.ts';
import { text } from './stage-call.ts';

const never = new AbortController().signal;
const DONE = text('clicked\n### Page\n- Page URL: https://shop.test/old');

/** A browser whose page looks so, by the runner's writer or by Playwright MCP. */
function parts(snapshot: 'changes' | 'none' | 'playwright', after: () => Promise<string>, dialogs: string[] = []) {
  const { context, page } = fakeTabs();
  return {
    context,
    guard: fakeGuard({ dialogs }).guard,
    view: () => ({ snapshot, tokensMax: 4_000 }),
    current: async () => page,
    writer: { after },
    connection: { request: async () => text('### Page\nby Playwright') },
  } as unknown as BrowserParts; // as much of it as is read
}
const looksSo = async () => '### Page\nby ours';

test('an action is followed by a snapshot, in whose place the page is named no more', async () => {
  const result = await addSnapshotAfter(parts('changes', looksSo), DONE, never);
  expect(textOf(result)).toBe('clicked\n### Page\nby ours');
});

test('none follows a failure, nor where the call wants none', async () => {
  const failed = failure('not done');
  expect(await addSnapshotAfter(parts('changes', looksSo), failed, never)).toBe(failed);
  expect(await addSnapshotAfter(parts('none', looksSo), DONE, never)).toBe(DONE);
});

test('Playwright MCP is asked where the call wants its snapshots, and behind a dialog', async () => {
  const asked = 'clicked\n### Page\nby Playwright';
  expect(textOf(await addSnapshotAfter(parts('playwright', looksSo), DONE, never))).toBe(asked);
  expect(textOf(await addSnapshotAfter(parts('changes', looksSo, ['Sure?']), DONE, never))).toBe(asked);
});

test('the result of the action stands even if no snapshot can be taken', async () => {
  const broken = () => Promise.reject(new Error('the page hangs'));
  expect(textOf(await addSnapshotAfter(parts('changes', broken), DONE, never))).toBe(textOf(DONE));
});

test('a page that cannot be read is freed and read once more', async () => {
  let reads = 0;
  const read = async () => {
    reads += 1;
    if (reads === 1) throw new Error('a frame does not answer');
    return text('read');
  };
  expect(textOf(await readRecovering(parts('changes', looksSo), read))).toBe('read');
  const never = () => Promise.reject(new Error('a frame does not answer'));
  await expect(readRecovering(parts('changes', looksSo), never)).rejects.toThrow('a frame does not answer');
});
