/** Sentences of a text: prose between full stops, colons and semicolons, or in a paragraph, list item or cell of its own. */
const sentences = (text: string): string[] =>
  text
    .split(/\n\s*\n|\n\s*(?:[-*]|\d+\.)\s+|(?<=[.:;!?])\s+|\s*\|\s*/)
    .map(each => each.replaceAll(/\s+/g, ' ').trim())
    .filter(each => each !== '');

/** Sentences that begin with a relative word instead of the thing that they are about. Questions may. */
export const relativeStarts = (text: string): string[] =>
  sentences(text).filter(each => /^(?:What|Of|Who|Whose|Where)\b/.test(each) && !each.endsWith('?'));

/** Comments of TypeScript, JavaScript or SQL, one text for each block or run of line comments. */
export const comments = (source: string): string[] => {
  const blocks = [...source.matchAll(/\/\*\*?((?:(?!\*\/)[\s\S])*)\*\//g)].map(([, text = '']) =>
    text.replaceAll(/^\s*\* ?/gm, ''),
  );
  const runs = [...source.matchAll(/(?:^|[\s;])(?:\/\/|--) (.*(?:\n\s*(?:\/\/|--) .*)*)/g)].map(([, text = '']) =>
    text.replaceAll(/\n\s*(?:\/\/|--) /g, '\n'),
  );
  return [...blocks, ...runs].map(text => text.trim());
};

/** Texts of string literals and templates that are prose: a capital, then words. */
export const messages = (source: string): string[] =>
  [...source.matchAll(/(['"`])([A-Z][a-z]* [^'"`\n]*)\1/g)].map(([, , text = '']) => text);

/** Titles of tests. */
export const titles = (source: string): string[] =>
  [...source.matchAll(/\b(?:it|test|describe)(?:\.\w+)*(?:\([^'"`\n]*\))?\(\s*(['"`])((?:(?!\1).)+)\1/g)].map(
    ([, , text = '']) => text,
  );

/** Paragraphs of a page, without its headings, code and comments. */
export const paragraphs = (page: string): string =>
  page
    .replaceAll(/```[\s\S]*?```/g, '')
    .replaceAll(/<!--[\s\S]*?-->/g, '')
    .replaceAll(/^(?: {4}|\t).*$/gm, '')
    .replaceAll(/^#.*$/gm, '');

/** The column "avoid" of the glossary. */
export function avoidedWords(glossary: string): string[] {
  const [, table = ''] = glossary.split('## Words to avoid');
  return [...table.matchAll(/^\| ([^|]+) \| [^|]+ \|$/gm)]
    .flatMap(([, words = '']) => words.split(', '))
    .filter(word => word !== 'avoid');
}

export const anyOf = (words: readonly string[]): RegExp => new RegExp(`\\b(?:${words.join('|')})\\b`, 'i');
