import { expect, test } from 'vitest';
import type { AriaNode } from '../../../runner/snapshot/aria-tree.ts';
import { findInOutline } from '../../../runner/snapshot/find.ts';
import { outlineOf } from '../../../runner/snapshot/outline.ts';

const outline = outlineOf(
  ['Kün\u00addi\u00adgung', 'Total 10\u202f000\u00a0€', 'zero\u200bwidth', 'cafe\u0301', 'ﬁnance ＡＢＣ'].map(text => ({
    role: 'paragraph',
    text,
  })),
);

test.each(['Kündigung', 'total 10 000 €', 'zerowidth', 'café', 'cafe\u0301', 'finance abc', '10\u00a0000'])(
  'finds %s as a person would write it',
  text => {
    expect(findInOutline(outline, { text }, 1_000)).toMatch(/^Found 1 match/);
  },
);

test('a pattern matches the text as a person reads it', () => {
  expect(findInOutline(outline, { regex: 'Kündigung', flags: '' }, 1_000)).toMatch(/^Found 1 match/);
  expect(findInOutline(outline, { regex: '10\\s000', flags: '' }, 1_000)).toMatch(/^Found 1 match/);
});

test('words of a sentence are found across the links in it', () => {
  const link: AriaNode = { role: 'link', name: 'old pier', ref: 'e2' };
  const page = outlineOf([{ role: 'paragraph', children: ['From the', link, 'you see gulls'] }]);
  expect(findInOutline(page, { text: 'the old pier you see' }, 1_000)).toBe(
    'Found 1 match for "the old pier you see":\n- paragraph: From the link "old pier" [ref=e2] you see gulls',
  );
});
