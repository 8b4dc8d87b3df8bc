import { expect, it } from 'vitest';
import { filesOf, pages, ROOMS } from './files.ts';
import { anyOf, avoidedWords, comments, messages, paragraphs, relativeStarts, titles } from './prose.ts';

type Texts = readonly [path: string, texts: readonly string[]][];

const textsOf = (files: readonly [path: string, source: string][], texts: (source: string) => string[]): Texts =>
  files.map(([path, source]) => [path, texts(source)]);

const SOURCE = (await filesOf(ROOMS, /\.(ts|tsx|js|sql)$/)).filter(
  ([path]) => !path.startsWith('console/assets/') && !path.startsWith('test/'),
);
const TESTS = (await filesOf(['test'], /\.(ts|js)$/)).filter(([path]) => !path.startsWith('test/docs/prose'));

const PROSE = {
  'comments of the source': textsOf(SOURCE, comments),
  'messages of the source': textsOf(SOURCE, messages),
  'comments of the tests': textsOf(TESTS, comments),
  'titles of tests': textsOf(TESTS, titles),
} as const;

/** The numbers may only fall: lower one when you rewrite a line. What is left stands in migrations, which may not change. */
const none = Object.fromEntries(Object.keys(PROSE).map(where => [where, 0])) as Record<keyof typeof PROSE, number>;

/**
 * Sentences that begin with What, Of, Who, Whose or Where, instead of the thing that they are about: begin a sentence with its subject.
 */
const STARTS_AT_MOST = { ...none, 'comments of the source': 4, 'messages of the source': 2 };

/** Lines with a word of the glossary's column "avoid", where test/docs/words.test.ts does not refuse them. */
const AVOIDED_AT_MOST = { ...none, 'comments of the source': 4 };

/** Lines with words that name no fact: `tell` for report, say or order, `so long` and `so many` for a number, `but for` for except. */
const VAGUE_AT_MOST = { ...none, 'comments of the source': 1 };

const AVOIDED = anyOf(avoidedWords((await filesOf(['docs'], /glossary\.md$/))[0]?.[1] ?? ''));
const VAGUE = /\b(?:tell|tells|told|telling|but for|so long|so many|so much)\b/i;

const found = (all: Texts, find: (text: string) => string[]): string[] =>
  all.flatMap(([path, texts]) => texts.flatMap(find).map(each => `${path}: ${each.trim()}`));

const linesWith = (words: RegExp) => (text: string) => text.split('\n').filter(line => words.test(line));

function expectAtMost(most: number, lines: readonly string[]): void {
  expect(lines.length, `${most} at most:\n${lines.join('\n')}`).toBeLessThanOrEqual(most);
}

const PLACES = Object.entries(PROSE) as [keyof typeof PROSE, Texts][];

it.each(PLACES)('%s begin no more sentences with a relative word', (where, texts) => {
  // A title is one sentence, and begins with a small letter or the row that it shows.
  const titleStarts = (title: string) => (/^(?:\[\w+\] )?(?:what|of|who|whose|where)\b/i.test(title) ? [title] : []);
  expectAtMost(STARTS_AT_MOST[where], found(texts, where === 'titles of tests' ? titleStarts : relativeStarts));
});

it('the documentation begins no more sentences with a relative word', async () => {
  expectAtMost(
    2,
    found(
      textsOf(await pages(), page => [paragraphs(page)]),
      relativeStarts,
    ),
  );
});

it.each(PLACES)('%s use no more words that the glossary avoids', (where, texts) => {
  expectAtMost(AVOIDED_AT_MOST[where], found(texts, linesWith(AVOIDED)));
});

it.each(PLACES)('%s use no more vague words', (where, texts) => {
  expectAtMost(VAGUE_AT_MOST[where], found(texts, linesWith(VAGUE)));
});

it('finds the sentences that it counts', () => {
  expect(relativeStarts('The lease. What is left of it stays; of two, one.')).toEqual(['What is left of it stays;']);
  expect(relativeStarts('What is a lease?')).toEqual([]);
  expect(comments('/** Of each tab. */ const a = 1; // What is left.\n')).toEqual(['Of each tab.', 'What is left.']);
  expect(messages(`throw new Error('What was sent is closed.');`)).toEqual(['What was sent is closed.']);
  expect(titles(`it.each([1])('what is left of %s', () => {});`)).toEqual(['what is left of %s']);
});
