import fc from 'fast-check';
import { expect, test } from 'vitest';
import { redactor } from '../../../runner/reporting/redact.ts';
import { leaksOf } from '../secrecy/leaks.ts';
import { ENCODERS, ESCAPERS, LISTS } from './escapers.ts';

const MARK = '<secret>X_PASSWORD</secret>';
const letters = 'abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ0123456789';
/** Letters and symbols, as password managers make them, and some of other alphabets. */
const value = fc
  .array(fc.constantFrom(...letters, ...letters, ...'&<>"\'`\\/%+=# ;:!?$@^~|{}[]()*.,-_', 'é', 'ß', '用', '😀'), {
    minLength: 8,
    maxLength: 32,
  })
  .map(all => all.join(''))
  .filter(all => all === all.trim() && !/ {2}/.test(all))
  // Fewer letters and digits, each with other text around it, are not distinguished from chance.
  .filter(all => halvesOf(all).every(part => (part.match(/[a-z0-9]/gi) ?? []).length >= 5));

/** Every shortest part of a value that is more than half of it. */
function halvesOf(all: string): string[] {
  const points = [...all];
  const size = Math.floor(points.length / 2) + 1;
  return Array.from({ length: points.length - size + 1 }, (_, from) => points.slice(from, from + size).join(''));
}

/** More than half of a value, at any place of it. */
const partOf = (whole: string, from: number, more: number): string => {
  const points = [...whole];
  const size = Math.floor(points.length / 2) + 1;
  const start = Math.floor(from * (points.length - size + 1));
  return points.slice(start, start + size + Math.floor(more * (points.length - start - size + 1))).join('');
};
const share = fc.double({ min: 0, max: 0.999, noNaN: true });
const words = fc.constantFrom('', 'password: ', 'GET /sent?password=', '{"v":', 'Hello ', '7 ');

test.each(Object.entries(ESCAPERS))('%s: a value, and more than half of one, is found', (_name, escaper) => {
  fc.assert(
    fc.property(value, share, share, words, words, (whole, from, more, before, after) => {
      const { redact, holds } = redactor({ X_PASSWORD: whole });
      for (const part of [whole, partOf(whole, from, more)]) {
        const text = before + escaper(part) + after;
        const clean = redact(text);
        expect(clean).toContain(MARK);
        expect(holds(text)).toBe(true);
        expect(leaksOf(clean.replaceAll(MARK, '\n'), whole)).toEqual([]);
      }
    }),
    // A backslash that an address keeps stands before an escape of its own.
    { numRuns: 60, examples: [['\\éaaaaaaaaaRaaaaaaaa', 0, 0, '', '']] },
  );
});

test.each(Object.entries(ENCODERS))('%s: a value is found', (_name, encode) => {
  fc.assert(
    fc.property(value, words, words, (whole, before, after) => {
      const { redact } = redactor({ X_PASSWORD: whole });
      const clean = redact(before + encode(whole) + after);
      expect(clean).toContain(MARK);
      expect(leaksOf(clean.replaceAll(MARK, '\n'), whole)).toEqual([]);
    }),
    { numRuns: 60 },
  );
});

test.each(Object.entries(LISTS))('%s: a value is found in its pieces, and what is around them stays', (_name, list) => {
  fc.assert(
    fc.property(value, whole => {
      const pieces = [...whole];
      const { redact, holds } = redactor({ X_PASSWORD: whole });
      const text = list(pieces);
      const clean = redact(text);
      expect(holds(text)).toBe(true);
      expect(clean.split(MARK).length).toBeGreaterThan(pieces.length / 2);
      expect(clean.split('\n')).toHaveLength(text.split('\n').length);
      if (text.startsWith('{')) expect(() => JSON.parse(clean)).not.toThrow();
    }),
    {
      numRuns: 60,
      // Escapes that are undone end a piece, and what looks like a tag once the pieces are joined.
      examples: [
        ...[['aaa\\aa"aaaaa'], ['aaaaaaaa?"aaaaaa?a'], ['aaaaE\\aE 6.aaa'], ['0C<b;,qKgf8"AnuPj\'~']],
        ...[['p<9i 0=>QK6)">FQeyr-%@'], ['B<Ccd7$tbZ 0nJ.YR0>92A']],
      ] as [string][],
    },
  );
});

test('an escaper in an escaper is undone', () => {
  // A path of an address turns the backslashes of another escaper round: that is not undone.
  const some = fc.constantFrom(
    ...Object.entries(ESCAPERS).filter(([name]) => !/tag|unseen|lines|CSS|case|path/.test(name)),
  );
  fc.assert(
    fc.property(value, some, some, (whole, [, inner], [, outer]) => {
      const { redact } = redactor({ X_PASSWORD: whole });
      expect(redact(outer(`a ${inner(whole)} b`))).toContain(MARK);
    }),
    { numRuns: 400 },
  );
});

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

// No clock: text that takes more than linear time does not end within the time limit of a test.
test.each([
  'a',
  '&',
  '&amp;',
  '\\',
  '%',
  '%25',
  '<',
  '- a:',
  'aa bb cc ',
  '12,',
  '&#',
  '\\u',
  '\u0301',
  '<secret>',
  '"a",',
  '{"a":"b"}',
  'name="',
  'YWFh',
])('hostile text takes no longer than any other of its length: %j', piece => {
  const { redact } = redactor({ X_PASSWORD: 'aaaaaaaaaaaaaaaaab', Y_PASSWORD: '&amp;&amp;%25%25\\\\\\\\' });
  expect(redact(piece.repeat(Math.ceil(400_000 / piece.length))).length).toBeGreaterThan(0);
});
