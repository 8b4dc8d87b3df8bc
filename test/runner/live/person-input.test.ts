import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import type { InputMessage } from '../../../contract/live.ts';
import type { DeviceMessage } from '../../../runner/live/input.ts';
import { personInput } from '../../../runner/live/person-input.ts';

/** A tab that takes one input when it is let. */
function slowTab() {
  const taken: DeviceMessage[] = [];
  const pending: (() => void)[] = [];
  const page = {} as Page; // of which nothing is asked
  const input = personInput({
    tabs: { shown: () => page, page: () => page } as unknown as Parameters<typeof personInput>[0]['tabs'],
    device: {
      send(_page, message) {
        taken.push(message);
        return new Promise(resolve => pending.push(resolve));
      },
      selection: async () => '',
      lift: async () => undefined,
    },
    asking: { dialogOpens: () => new Promise(() => undefined) } as unknown as Parameters<
      typeof personInput
    >[0]['asking'],
    pickers: { acted: () => undefined } as unknown as Parameters<typeof personInput>[0]['pickers'],
  });
  const turn = () => new Promise(setImmediate);
  return {
    ...{ input, taken, turn },
    async takeOne() {
      pending.shift()?.();
      await turn();
    },
  };
}

const mouse = (kind: 'down' | 'up' | 'move', x: number, buttons = 0): InputMessage => ({
  ...{ t: 'mouse', kind, x, y: 0, buttons, button: buttons === 0 ? 'none' : 'left', clicks: 0, modifiers: 0 },
});
const wheel = (dy: number): InputMessage => ({ t: 'wheel', x: 0, y: 0, dx: 0, dy, modifiers: 0 });
const key = (name: string): InputMessage => ({
  ...{ t: 'key', kind: 'down', key: name, code: name, key_code: 0, location: 0, repeat: false, modifiers: 0 },
});

test('a press does not wait for all the moves before it: the newest of those that wait is carried out', async () => {
  const { input, taken, turn, takeOne } = slowTab();
  const done = [input.act(mouse('move', 1))];
  await turn();
  for (const x of [2, 3, 4]) done.push(input.act(mouse('move', x)));
  done.push(input.act(mouse('down', 4, 1)), input.act(mouse('move', 5, 1)), input.act(mouse('move', 6, 1)));
  for (let each = 0; each < 4; each += 1) await takeOne();
  expect(taken.map(each => each.t === 'mouse' && `${each.kind} ${each.x}`)).toEqual([
    'move 1',
    'move 4',
    'down 4',
    'move 6',
  ]);
  await Promise.all(done);
});

test('turns of the wheel that wait are one turn as long as all of them, and keys keep their number and order', async () => {
  const { input, taken, turn, takeOne } = slowTab();
  void input.act(wheel(1));
  await turn();
  for (const message of [wheel(10), wheel(100), key('a'), key('a'), wheel(5)]) void input.act(message);
  for (let each = 0; each < 5; each += 1) await takeOne();
  expect(taken.map(each => (each.t === 'wheel' ? each.dy : each.t))).toEqual([1, 110, 'key', 'key', 5]);
});

test('input that a hanging tab has not begun when control ends is never carried out', async () => {
  const { input, taken, turn, takeOne } = slowTab();
  const first = input.act(key('a'));
  const late = input.act(mouse('down', 1, 1));
  late.catch(() => undefined);
  await turn();
  await input.end(); // it waits a second for the tab
  await takeOne();
  await first;
  await expect(late).rejects.toThrow('too late');
  expect(taken).toHaveLength(1);
  const next = input.act(key('b')); // of who has control then
  await turn();
  await takeOne();
  await next;
  expect(taken).toHaveLength(2);
});
