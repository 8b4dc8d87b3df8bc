import { expect, test } from 'vitest';
import { fitted } from '../../../runner/budget/fit.ts';
import { tokensOf } from '../../tokens/tokens.ts';

const long = Array.from({ length: 5_000 }, (_, n) => `Line ${n}`).join('\n');
const textIn = (result: { content: { type: string; text?: unknown }[] }) =>
  result.content.map(({ text }) => text ?? '').join('\n');

test('a text that is too long says how long it is and how to get the rest', () => {
  const result = fitted({ content: [{ type: 'text', text: long }] }, 'browser_console_messages', 1_000);
  expect(tokensOf(textIn(result))).toBeLessThanOrEqual(1_000);
  expect(textIn(result)).toMatch(/^Line 0\n/);
  expect(textIn(result)).toMatch(
    /\(cut: the answer takes about \d+ tokens; a level of "error" gives fewer.* tokensMax: \d+ gives more\)$/,
  );
});

test('JSON stays JSON', () => {
  const text = JSON.stringify({
    success: true,
    content: long,
    links: Array.from({ length: 900 }, (_, n) => ({ href: `/${n}` })),
  });
  const result = fitted({ content: [{ type: 'text', text }] }, 'browser_get_content', 1_000);
  expect(tokensOf(textIn(result))).toBeLessThanOrEqual(1_000);
  expect(JSON.parse(textIn(result))).toMatchObject({
    success: true,
    truncated: true,
    content: expect.stringMatching(/^Line 0\n/),
    cut: expect.stringContaining('tokensMax'),
  });
});

test('pictures and short texts stay as they are', () => {
  const picture = { type: 'image', data: 'x'.repeat(50_000), mimeType: 'image/png' } as const;
  const result = { content: [picture, { type: 'text' as const, text: 'short' }] };
  expect(fitted(result, 'browser_take_screenshot', 200)).toBe(result);
  const cut = fitted(
    { content: [picture, { type: 'text', text: 'short' }, { type: 'text', text: long }] },
    'browser_click',
    500,
  );
  expect(cut.content.slice(0, 2)).toEqual(result.content);
  expect(tokensOf(textIn(cut))).toBeLessThanOrEqual(500);
});
