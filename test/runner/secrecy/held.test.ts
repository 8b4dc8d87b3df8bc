import { expect, test } from 'vitest';
import { findHeldTexts, fold, formsOf } from '../../../runner/secrecy/held.ts';

const PASSWORD = 'Correct horse "battery" & Ümlaut 77!';
const held = (texts: readonly string[], value = PASSWORD, kind: 'password' | 'username' = 'password') => [
  ...findHeldTexts(texts, formsOf(value, kind), fold),
];
const half = PASSWORD.slice(4, 4 + PASSWORD.length / 2 + 1);

test.each([
  ['as it is', PASSWORD],
  ['in capitals', PASSWORD.toUpperCase()],
  ['more than half', `the value: ${half}...`],
  ['backwards', [...PASSWORD].reverse().join('')],
  ['decomposed', PASSWORD.normalize('NFD')],
  ['with spaces', [...PASSWORD].join(' ')],
  ['with what is not seen', [...PASSWORD].join('\u200b\u00ad\u2066')],
  ['with dots', [...PASSWORD].join('.')],
  ['in an address', encodeURIComponent(PASSWORD)],
  ['in an address, in lower case', encodeURIComponent(PASSWORD).replace(/%../g, each => each.toLowerCase())],
  ['in a query', new URL(`http://x/?q=${PASSWORD}`).search],
  ['in a form', new URLSearchParams({ q: PASSWORD }).toString()],
  ['in JSON', JSON.stringify({ q: PASSWORD })],
  [
    'in JSON of ASCII',
    JSON.stringify({ q: PASSWORD }).replace(/[^ -~]/g, c => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`),
  ],
  ['in markup', PASSWORD.replaceAll('&', '&amp;').replaceAll('"', '&quot;')],
  ['in hex', Buffer.from(PASSWORD).toString('hex').toUpperCase()],
  ['in base64', Buffer.from(`bob:${PASSWORD}`).toString('base64')],
  ['in base64 for addresses', Buffer.from(`xy${PASSWORD}`).toString('base64url')],
])('a value is found: %s', (_how, text) => {
  expect(held(['Hello', text, 'bye'])).toContain(1);
});

test('a value over several texts is found in each of them, and so are the pieces beside it', () => {
  const all = [...PASSWORD].map((_, index) => index + 1);
  expect(held(['Hello', ...PASSWORD, 'goodbye']).sort((a, b) => a - b)).toEqual(all);
});

test('half of it, and what is not of it, is none', () => {
  expect(held([PASSWORD.slice(0, 14), 'A battery is something else than a horse.'])).toEqual([]);
});

test('a username counts in full, or by more than half of a long one; the domain of an address does not count', () => {
  expect(held(['notice of service', 'Alice'], 'alice', 'username')).toEqual([1]);
  const address = 'alice.smith@mail.invalid';
  expect(held(['ALICE.SMITH', 'write to us@mail.invalid', 'alice.s', 'alic'], address, 'username')).toEqual([0, 2]);
});
