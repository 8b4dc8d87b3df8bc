import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import type { PickerField, ServerMessage } from '../../../contract/live.ts';
import { livePickers } from '../../../runner/live/pickers.ts';

const FIELD: PickerField = {
  ...{ kind: 'select', value: '', multiple: false, min: '', max: '', step: '' },
  ...{ options: [{ label: 'rye', selected: true, disabled: false }], x: 10, y: 20, width: 100, height: 30 },
};

function tab(conceal = async (text: string) => text) {
  const told: ServerMessage[] = [];
  const state = { field: null as PickerField | null, scripts: 0, read: Promise.resolve() };
  const page = {
    async evaluate() {
      state.scripts += 1;
      await state.read;
      return state.field;
    },
  } as unknown as Page; // all that is asked of it
  const pickers = livePickers({ idOf: () => 7, say: message => told.push(message), conceal });
  const acted = async () => {
    pickers.acted(page);
    await new Promise(setImmediate);
  };
  return { pickers, page, state, told, kinds: () => told.map(({ t }) => t), acted };
}

test('a field is offered when the focus comes to it, to who comes later too, and withdrawn when it leaves', async () => {
  const { pickers, state, told, kinds, acted } = tab();
  await acted();
  expect(told).toEqual([]);
  state.field = FIELD;
  await acted();
  expect(told).toEqual([{ t: 'picker', tab: 7, field: FIELD }]);
  expect(pickers.open()).toEqual(told);
  state.field = null;
  await acted();
  await acted();
  expect(kinds()).toEqual(['picker', 'picker_closed']);
  expect(pickers.open()).toEqual([]);
});

test('a choice is set once', async () => {
  const { pickers, page, state, kinds, acted } = tab();
  state.field = FIELD;
  await acted();
  await pickers.pick(page, { options: [0] });
  await pickers.pick(page, { options: [0] });
  expect(state.scripts).toBe(2); // one look and one choice
  expect(kinds()).toEqual(['picker', 'picker_closed']);
});

test('a field that is as it was offered is not offered again: a viewer would lose what the person has filled in', async () => {
  const { state, kinds, acted } = tab();
  state.field = { ...FIELD };
  await acted();
  state.field = structuredClone(FIELD);
  await acted();
  expect(kinds()).toEqual(['picker']);
  state.field = { ...FIELD, y: 50 };
  await acted();
  expect(kinds()).toEqual(['picker', 'picker']);
});

test('a look that began before a choice does not offer the field again', async () => {
  const { pickers, page, state, kinds, acted } = tab();
  state.field = FIELD;
  await acted();
  const { promise, resolve } = Promise.withResolvers<void>();
  state.read = promise;
  await acted();
  const picked = pickers.pick(page, { options: [0] });
  resolve();
  await picked;
  await new Promise(setImmediate);
  expect(kinds()).toEqual(['picker', 'picker_closed']);
});

test('a field that was still being read when control ended is not offered', async () => {
  const { pickers, state, told, acted } = tab();
  const { promise, resolve } = Promise.withResolvers<void>();
  Object.assign(state, { field: FIELD, read: promise });
  await acted();
  pickers.end();
  resolve();
  await new Promise(setImmediate);
  expect(told).toEqual([]);
});

test('a page that makes the script answer something else is offered nothing, and the next one is', async () => {
  const { state, told, acted } = tab();
  state.field = { ...FIELD, options: null } as unknown as PickerField;
  await acted();
  expect(told).toEqual([]);
  state.field = FIELD;
  await acted();
  expect(told).toEqual([{ t: 'picker', tab: 7, field: FIELD }]);
});

test('nothing of a field shows a viewer a secret: neither its options, nor the value of a list, nor its bounds', async () => {
  const { state, told, acted } = tab(async text => text.replaceAll('hunter2', '*'));
  const options = [{ label: 'it is hunter2', selected: true, disabled: false }];
  state.field = { ...FIELD, value: 'hunter2', options };
  await acted();
  state.field = { ...FIELD, kind: 'date', value: '2026-11-24', min: 'hunter2', max: 'hunter2', step: 'hunter2' };
  await acted();
  expect(told).toMatchObject([
    { field: { value: '', options: [{ label: 'it is *' }] } },
    { field: { value: '2026-11-24', min: '*', max: '*', step: '*' } },
  ]);
  expect(JSON.stringify(told)).not.toContain('hunter2');
});
