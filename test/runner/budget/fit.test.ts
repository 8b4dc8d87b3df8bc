import { expect, test } from 'vitest';
import { type FitBounds, fitResult, fitTexts, type SafeText } from '../../../runner/budget/fit.ts';
import { redactor } from '../../../runner/reporting/redact.ts';
import { TOOLS } from '../../../runner/tools/all.ts';
import { tokensOf } from '../../tokens/tokens.ts';

const long = Array.from({ length: 5_000 }, (_, n) => `Line ${n}`).join('\n');
const fit = async (texts: readonly SafeText[], bounds: FitBounds) => fitTexts(texts, bounds);
const of = (tool: string, tokensMax: number) => ({
  tokensMax,
  shorter: TOOLS.find(({ name }) => name === tool)?.shorter ?? null,
  conceal: async (text: string) => text,
  fit,
});
const textIn = (result: { content: { type: string; text?: unknown }[] }) =>
  result.content.map(({ text }) => text ?? '').join('\n');

test('a text that is too long says how long it is and how to get the rest', async () => {
  const result = await fitResult({ content: [{ type: 'text', text: long }] }, of('browser_console_messages', 1_000));
  expect(tokensOf(textIn(result))).toBeLessThanOrEqual(1_000);
  expect(textIn(result)).toMatch(/^Line 0\n/);
  expect(textIn(result)).toMatch(
    /\(cut: the answer takes about \d+ tokens; a level of "error" gives fewer.* tokensMax: \d+ gives more\)$/,
  );
});

test('JSON stays JSON', async () => {
  const text = JSON.stringify({
    success: true,
    content: long,
    links: Array.from({ length: 900 }, (_, n) => ({ href: `/${n}` })),
  });
  const result = await fitResult({ content: [{ type: 'text', text }] }, of('browser_get_content', 1_000));
  expect(tokensOf(textIn(result))).toBeLessThanOrEqual(1_000);
  expect(JSON.parse(textIn(result))).toMatchObject({
    success: true,
    truncated: true,
    content: expect.stringMatching(/^Line 0\n/),
    cut: expect.stringContaining('tokensMax'),
  });
});

test('pictures and short texts stay as they are', async () => {
  const picture = { type: 'image', data: 'x'.repeat(50_000), mimeType: 'image/png' } as const;
  const result = { content: [picture, { type: 'text' as const, text: 'short' }] };
  expect(await fitResult(result, of('browser_take_screenshot', 200))).toEqual(result);
  const cut = await fitResult(
    { content: [picture, { type: 'text', text: 'short' }, { type: 'text', text: long }] },
    of('browser_click', 500),
  );
  expect(cut.content.slice(0, 2)).toEqual(result.content);
  expect(tokensOf(textIn(cut))).toBeLessThanOrEqual(500);
});

test('secrets are removed from the part of a long text that may be shown, and no part of one is left at its end', async () => {
  const secret = 'correct horse battery staple';
  const redact = redactor({ SITE_PASSWORD: secret }).redact;
  const given: number[] = [];
  const conceal = async (text: string) => {
    given.push(text.length);
    return redact(text);
  };
  // Whatever is read of it, it ends within a secret for some of these.
  for (const before of [0, 7, 14, 21]) {
    const text = 'x'.repeat(before) + secret.repeat(100_000);
    const result = await fitResult(
      { content: [{ type: 'text', text }] },
      { ...of('browser_evaluate', 2_000), conceal },
    );
    expect(textIn(result)).not.toMatch(/cor|hor|bat|sta/);
    const [, tokens] = /takes about (\d+) tokens/.exec(textIn(result)) ?? [];
    expect(Number(tokens)).toBeGreaterThan(100_000);
  }
  expect(Math.max(...given)).toBeLessThan(150_000);
});
