import { expect, test } from 'vitest';
import { beginning, makeWellFormed, partOf } from '../../contract/well-formed.ts';
import { startOf } from '../../runner/budget/estimate.ts';
import { findInOutline } from '../../runner/snapshot/find.ts';

const emoji = `x${'😀'.repeat(900)}`;

test('no cut leaves half of a character', () => {
  for (let length = 0; length < 40; length += 1) {
    expect(beginning(emoji, length).isWellFormed()).toBe(true);
    expect(partOf(emoji, length, length + 9).isWellFormed()).toBe(true);
    expect(startOf(emoji, length).isWellFormed()).toBe(true);
  }
  expect(beginning(emoji, 3)).toBe('x😀');
});

test('U+FFFD stands for a half that a page wrote, in a text and in JSON', () => {
  const text = 'Half \ud83d here \ude00 😀';
  expect(makeWellFormed(text)).toBe('Half \ufffd here \ufffd 😀');
  expect(JSON.parse(makeWellFormed(JSON.stringify({ text, code: '\\ud83d', pair: '😀' })))).toEqual({
    text: 'Half \ufffd here \ufffd 😀',
    code: '\\ud83d',
    pair: '😀',
  });
});

test('a long text that matches is shown in whole characters', () => {
  const line = `text: ${'😀'.repeat(1_500)} needle ${'😀'.repeat(1_500)}`;
  const outline = [{ role: 'text', line, ref: undefined, children: [] }];
  expect(findInOutline(outline, { text: 'needle' }, 4_000).isWellFormed()).toBe(true);
  expect(findInOutline(outline, { regex: '.needle', flags: '' }, 4_000).isWellFormed()).toBe(true);
});
