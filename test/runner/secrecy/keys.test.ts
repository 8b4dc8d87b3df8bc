import { expect, test } from 'vitest';
import { refusedKey } from '../../../runner/secrecy/keys.ts';

test.each(['Enter', 'NumpadEnter', 'Tab', 'Escape'])('%s is pressed everywhere', key => {
  expect(refusedKey(key, 'secret')).toBeUndefined();
  expect(refusedKey(key, 'other')).toBeUndefined();
});

test.each(['a', 'Z', '+', 'é', ' ', 'ArrowDown', 'Backspace', 'Delete', 'PageUp', 'Space'])(
  '%s is pressed outside a field that holds a credential',
  key => {
    expect(refusedKey(key, 'other')).toBeUndefined();
    expect(refusedKey(key, 'secret')?.why).toContain('only Enter, Tab and Escape');
  },
);

test.each([
  'Control+z',
  'ControlOrMeta+z',
  'control+z',
  'Control++',
  'Control+Shift+KeyZ',
  'Shift+ArrowLeft',
  'Shift+Insert',
  'Shift+Tab',
  'Shift+a',
  'Alt+Backspace',
  'Meta',
  'Control',
  'Shift',
  'ShiftLeft',
  'Undo',
  'Redo',
  'Copy',
  'Cut',
  'Paste',
  'Insert',
  'ContextMenu',
  'F12',
  'KeyZ',
  'Enter+',
  'Enter ',
  '',
])('%s is pressed nowhere', key => {
  expect(refusedKey(key, 'other')?.why).toContain('without modifiers');
  expect(refusedKey(key, 'secret')).toBeDefined();
});

test('refuses text keys in a list, which would choose in it', () => {
  for (const key of ['a', 'T', '0']) expect(refusedKey(key, 'list')?.why).toContain('none in a list');
  expect(refusedKey('ArrowDown', 'list')).toBeUndefined();
});
