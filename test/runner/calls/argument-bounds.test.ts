import { expect, test } from 'vitest';
import { tooLong } from '../../../runner/calls/argument-bounds.ts';

test('a selector or pattern may be shorter than a text to type', () => {
  const text = 'x'.repeat(5_000);
  expect(tooLong({ text, fields: [{ name: text }] })).toBeUndefined();
  expect(tooLong({ selector: text })).toBe('"selector" has 5000 characters; at most 4000 are taken.');
  expect(tooLong({ text: 'x'.repeat(1_000_001) })).toContain('at most 1000000');
});

test('a text within a list counts too', () => {
  expect(tooLong({ fields: [{ value: 'a' }, { target: 'x'.repeat(4_001) }] })).toContain('"target"');
});
