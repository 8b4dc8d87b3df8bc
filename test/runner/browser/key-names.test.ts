import { expect, test } from 'vitest';
import { findKey } from '../../../runner/browser/key-names.ts';
import { movesClipboard } from '../../../runner/secrecy/keys.ts';

test.each([
  ['Ctrl+A', 'Control+A'],
  ['ctrl-shift-p', 'Control+Shift+P'],
  ['enter', 'Enter'],
  ['Command+k', 'Meta+k'],
  ['Page Up', 'PageUp'],
  ['<Tab>', 'Tab'],
  ['⌘K', 'Meta+K'],
  ['⇧⌘p', 'Shift+Meta+P'],
  ['⌘⌫', 'Meta+Backspace'],
  ['⌘', 'Meta'],
  ['Cmd + K', 'Meta+K'],
  ['Control++', 'Control++'],
  ['Ctrl+Plus', 'Control++'],
  ['+', '+'],
  ['-', '-'],
  [' ', ' '],
  ['\n', 'Enter'],
  ['Enter key', 'Enter'],
  ['left arrow', 'ArrowLeft'],
  ['{ENTER}', 'Enter'],
  ['Keys.ARROW_DOWN', 'ArrowDown'],
  ['f12', 'F12'],
  ['numpad_enter', 'NumpadEnter'],
  ['é', 'é'],
  ['F13x', undefined],
  ['a+b', undefined],
  ['Enter+', undefined],
  ['Control+', undefined],
  ['hello', undefined],
  ['', undefined],
])('%j is the key %j', (text, key) => {
  expect(findKey(text)).toBe(key);
});

test.each(['Ctrl+V', 'cmd-c', 'Strg+X', 'shift_left+Insert', 'ctrl + v'])(
  '%s moves the clipboard as it is pressed',
  key => {
    expect(movesClipboard(findKey(key) ?? '')).toBe(true);
  },
);
