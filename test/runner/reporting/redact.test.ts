import fc from 'fast-check';
import { expect, test } from 'vitest';
import { redactJson, redactor } from '../../../runner/reporting/redact.ts';

test('finds a value in the forms in which results hold it', () => {
  const value = 'p@ss "word" & <more>';
  const { redact } = redactor({ SITE_PASSWORD: value });
  for (const text of [
    value,
    JSON.stringify({ value }),
    `https://x/?q=${encodeURIComponent(value)}`,
    new URLSearchParams({ value }).toString(),
    '<p>p@ss &quot;word&quot; &amp; &lt;more&gt;</p>',
  ]) {
    expect(redact(text)).toContain('<secret>SITE_PASSWORD</secret>');
    expect(redact(text)).not.toMatch(/p@ss|p%40ss/);
  }
});

test('a value inside another leaves nothing of the longer one, in any order', () => {
  for (const secrets of [
    { A_USERNAME: 'hunter', A_PASSWORD: 'hunter2' },
    { A_PASSWORD: 'hunter2', A_USERNAME: 'hunter' },
  ])
    expect(redactor(secrets).redact('hunter hunter2')).toBe('<secret>A_USERNAME</secret> <secret>A_PASSWORD</secret>');
});

test('a value that occurs in the marks themselves does not break them', () => {
  expect(redactor({ A_PASSWORD: 'secret', B_PASSWORD: 'long secret' }).redact('long secret')).toBe(
    '<secret>B_PASSWORD</secret>',
  );
});

test('whatever the value, no text keeps it', () => {
  fc.assert(
    fc.property(fc.string({ minLength: 3 }), fc.string(), fc.string(), (value, before, after) => {
      // A value that is part of the mark is in every redacted text.
      fc.pre(!'<secret>X_PASSWORD</secret>'.includes(value));
      const redacted = redactor({ X_PASSWORD: value }).redact(`${before}${value}${after}`);
      expect(redacted.split('<secret>X_PASSWORD</secret>').some(part => part.includes(value))).toBe(false);
    }),
  );
});

test('a text that was searched before is searched again for what is secret since', () => {
  const { redact, add } = redactor({ X_PASSWORD: 'hunter2' });
  const text = `${'a page of words. '.repeat(100)} hunter2 482910`;
  expect(redact(text)).toContain('<secret>X_PASSWORD</secret> 482910');
  let isCurrent = true;
  add('TOTP', '482910', 'code', () => isCurrent);
  expect(redact(text)).toContain('<secret>X_PASSWORD</secret> <secret>TOTP</secret>');
  isCurrent = false;
  expect(redact(text)).toContain('<secret>X_PASSWORD</secret> 482910');
});

test('an event keeps short strings and short lists, without secrets in keys or values', () => {
  const { redact } = redactor({ X_PASSWORD: 'hunter2' });
  const kept = redactJson(
    {
      text: 'x'.repeat(5_000),
      list: Array.from({ length: 100 }, () => 1),
      hunter2: ['hunter2', null, true, undefined],
    },
    redact,
  );
  expect(kept).toEqual({
    text: `${'x'.repeat(2_048)}...`,
    list: Array.from({ length: 50 }, () => 1),
    '<secret>X_PASSWORD</secret>': ['<secret>X_PASSWORD</secret>', null, true, null],
  });
});
