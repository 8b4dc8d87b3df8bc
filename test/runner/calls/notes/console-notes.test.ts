import { expect, test } from 'vitest';
import { consoleNotes } from '../../../../runner/calls/notes/console-notes.ts';
import { fakeTabs } from '../fake-tabs.ts';

function consoleOf(isClosed = false) {
  const tabs = fakeTabs();
  const notes = consoleNotes({
    context: tabs.context,
    conceal: async text => text.replaceAll('hunter2', '***'),
    isClosed: () => isClosed,
  });
  const write = (type: string, text: string) => tabs.emit('console', { type: () => type, text: () => text });
  return { notes, write, tabs };
}

test('lists five messages, errors first, and counts the others', async () => {
  const { notes, write, tabs } = consoleOf();
  for (let n = 1; n <= 6; n += 1) write('log', `line ${n}`);
  write('debug', 'not told');
  write('warning', 'slow');
  tabs.emit('weberror', { error: () => new Error('broken') });
  expect(await notes.take()).toEqual([
    ...['[ERROR] Error: broken', '[WARNING] slow', '[LOG] line 1', '[LOG] line 2', '[LOG] line 3'],
    'and 3 more',
  ]);
  expect(await notes.take()).toEqual([]);
});

test('a long message is cut, without half of a secret at its end', async () => {
  const { notes, write } = consoleOf();
  write('log', `${'x'.repeat(290)}hunter2${'y'.repeat(100)}`);
  const [line] = await notes.take();
  expect(line).toHaveLength(300);
  expect(line).not.toContain('hunt');
});

test('lists no message from before the agent may read the console', async () => {
  const { notes, write } = consoleOf(true);
  write('error', 'hunter2');
  expect(await notes.take()).toEqual([]);
});
