import { expect, test } from 'vitest';
import { redactor } from '../../../runner/reporting/redact.ts';
import { HOSTILE_PIECES, testHostileText, testSpellings } from './spellings.ts';

// The same few values in every run, and some of the hostile pieces; spellings-search.test.ts tries others, and all pieces.
testSpellings({ seed: 1, runs: 10 });
testHostileText(HOSTILE_PIECES.slice(1, 4));

test('a username is found whole, and by more than half of the part before the @; a domain is not', () => {
  const { redact, holds } = redactor({ X_USERNAME: 'alice.smith@mail.invalid', X_PASSWORD: 'Tr0ub4dor&3' });
  for (const text of ['alice.smith@mail.invalid', 'ALICE.SMITH%40mail.invalid', 'Hello alice.smith', 'ice.smith']) {
    expect(redact(text)).toContain('<secret>X_USERNAME</secret>');
    expect(holds(text)).toBe(false);
  }
  for (const text of ['mail.invalid', 'someone@mail.invalid', 'Alice', 'smith']) expect(redact(text)).toBe(text);
  // A word of a name is in other texts too.
  const short = redactor({ X_USERNAME: 'ada-name', Y_USERNAME: 'john.smith' });
  for (const text of ['the name of a field', 'first-name', 'smithy', 'Smith']) expect(short.redact(text)).toBe(text);
});

test('a part of a code is redacted while the code is a secret; only the whole makes a document one that holds it', () => {
  let isSecret = true;
  const redactorOfLease = redactor({});
  redactorOfLease.add('TOTP', '492837', 'code', () => isSecret);
  expect(redactorOfLease.redact('code 4928..')).toBe('code <secret>TOTP</secret>..');
  expect(redactorOfLease.redact('492 837')).toBe('<secret>TOTP</secret>');
  expect(redactorOfLease.redact(`code ${btoa('492837')}`)).toBe('code <secret>TOTP</secret>');
  expect(redactorOfLease.holds('4928')).toBe(false);
  expect(redactorOfLease.holds('4 9 2 8 3 7')).toBe(true);
  isSecret = false;
  expect(redactorOfLease.redact('492837')).toBe('492837');
});

test('a short password is no word of it', () => {
  const { redact } = redactor({ X_PASSWORD: 'ada-pass' });
  for (const text of ['Password', 'ada', 'a pass']) expect(redact(text)).toBe(text);
  for (const text of ['ada-pass', 'a-pass', 'ada-p', 'a d a p a s s']) expect(redact(text)).not.toBe(text);
});

test('ordinary text stays as it is', () => {
  const { redact } = redactor({
    X_USERNAME: 'alice.smith@mail.invalid',
    X_PASSWORD: 'correct horse "battery" & staple 77',
  });
  const list =
    '{"items":[{"name":"a","n":1},{"name":"b","n":22},{"name":"cc","n":333}]}\n1. a\n2. b\n- button "OK" [ref=e1]';
  expect(redact(list)).toBe(list);
  const text = `The horse was correct about the battery; a staple is 77 cents. Call %d of &amp; \\n C:\\new <b>bold</b>
- button "Send" [ref=e4]: 12, 13, 14, 15\n- link "Mail" [ref=e5]: invalid`;
  expect(redact(text)).toBe(text);
});
