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

/**
 * Registers a test for each spelling that an encoder, escaper or list gives a value: the redactor finds it. Each tries this many random
 * values, which follow from the seed.
 */
export function testSpellings({ seed, runs }: { seed: number; runs: number }): void {
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
      { seed, numRuns: runs, examples: [['\\éaaaaaaaaaRaaaaaaaa', 0, 0, '', '']] },
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
      { seed, numRuns: runs },
    );
  });

  test.each(Object.entries(LISTS))(
    '%s: a value is found in its pieces, and what is around them stays',
    (_name, list) => {
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
          seed,
          numRuns: runs,
          // Escapes that are undone end a piece, and what looks like a tag once the pieces are joined.
          examples: [
            ...[['aaa\\aa"aaaaa'], ['aaaaaaaa?"aaaaaa?a'], ['aaaaE\\aE 6.aaa'], ['0C<b;,qKgf8"AnuPj\'~']],
            ...[['p<9i 0=>QK6)">FQeyr-%@'], ['B<Ccd7$tbZ 0nJ.YR0>92A']],
          ] as [string][],
        },
      );
    },
  );

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
      { seed, numRuns: 7 * runs },
    );
  });
}

/** Pieces of text on which a pattern or a loop could take more than linear time. */
export const HOSTILE_PIECES = [
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
];

/** No clock: text that takes more than linear time does not end within the time limit of a test. */
export function testHostileText(pieces: readonly string[]): void {
  test.each(pieces)('hostile text takes no longer than any other of its length: %j', piece => {
    const { redact } = redactor({ X_PASSWORD: 'aaaaaaaaaaaaaaaaab', Y_PASSWORD: '&amp;&amp;%25%25\\\\\\\\' });
    expect(redact(piece.repeat(Math.ceil(400_000 / piece.length))).length).toBeGreaterThan(0);
  });
}
