import { expect, it } from 'vitest';
import { filesOf, pages, ROOMS } from './files.ts';
import { anyOf, avoidedWords, comments, messages, paragraphs, relativeStarts, titles } from './prose.ts';

/**
 * Sentences that begin with What, Of, Who, Whose or Where, instead of the thing that they are about. The numbers may only fall: begin a
 * new sentence with its subject, and lower the number when you rewrite an old one.
 */
const AT_MOST = {
  'comments of the source': 4,
  'messages of the source': 2,
  'comments of the tests': 0,
  'titles of tests': 0,
  'the documentation': 2,
} as const;

const SOURCE = (await filesOf(ROOMS, /\.(ts|tsx|js|sql)$/)).filter(
  ([path]) => !path.startsWith('console/assets/') && !path.startsWith('test/'),
);
const TESTS = (await filesOf(['test'], /\.(ts|js)$/)).filter(([path]) => !path.startsWith('test/docs/prose'));

const found = (files: readonly [path: string, text: string][], texts: (source: string) => string[]): string[] =>
  files.flatMap(([path, source]) =>
    texts(source)
      .flatMap(relativeStarts)
      .map(each => `${path}: ${each}`),
  );

const FOUND: Record<keyof typeof AT_MOST, string[]> = {
  'comments of the source': found(SOURCE, comments),
  'messages of the source': found(SOURCE, messages),
  'comments of the tests': found(TESTS, comments),
  'titles of tests': TESTS.flatMap(([path, source]) =>
    titles(source)
      .filter(title => /^(?:\[\w+\] )?(?:what|of|who|whose|where)\b/i.test(title))
      .map(title => `${path}: ${title}`),
  ),
  'the documentation': found(await pages(), page => [paragraphs(page)]),
};

it.each(Object.entries(FOUND))('%s begin no more sentences with a relative word', (where, sentences) => {
  const most = AT_MOST[where as keyof typeof AT_MOST];
  expect(sentences.length, `${most} at most:\n${sentences.join('\n')}`).toBeLessThanOrEqual(most);
});

/** Lines with a word of the glossary's column "avoid", where test/docs/words.test.ts does not refuse them. The numbers may only fall. */
const AVOIDED_AT_MOST = {
  'comments of the source': 4,
  'messages of the source': 0,
  'comments of the tests': 0,
  'titles of tests': 0,
} as const;

const avoided = anyOf(avoidedWords((await filesOf(['docs'], /glossary\.md$/))[0]?.[1] ?? ''));
const withAvoided = (files: readonly [path: string, text: string][], texts: (source: string) => string[]): string[] =>
  files.flatMap(([path, source]) =>
    texts(source)
      .flatMap(text => text.split('\n'))
      .filter(line => avoided.test(line))
      .map(line => `${path}: ${line.trim()}`),
  );

const AVOIDED: Record<keyof typeof AVOIDED_AT_MOST, string[]> = {
  'comments of the source': withAvoided(SOURCE, comments),
  'messages of the source': withAvoided(SOURCE, messages),
  'comments of the tests': withAvoided(TESTS, comments),
  'titles of tests': withAvoided(TESTS, titles),
};

it.each(Object.entries(AVOIDED))('%s use no more words that the glossary avoids', (where, lines) => {
  const most = AVOIDED_AT_MOST[where as keyof typeof AVOIDED_AT_MOST];
  expect(lines.length, `${most} at most:\n${lines.join('\n')}`).toBeLessThanOrEqual(most);
});

it('finds the sentences that it counts', () => {
  expect(relativeStarts('The lease. What is left of it stays; of two, one.')).toEqual(['What is left of it stays;']);
  expect(relativeStarts('What is a lease?')).toEqual([]);
  expect(comments('/** Of each tab. */ const a = 1; // What is left.\n')).toEqual(['Of each tab.', 'What is left.']);
  expect(messages(`throw new Error('What was sent is closed.');`)).toEqual(['What was sent is closed.']);
  expect(titles(`it.each([1])('what is left of %s', () => {});`)).toEqual(['what is left of %s']);
});
