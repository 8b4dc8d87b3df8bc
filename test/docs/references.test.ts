import { readdir, readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { ENV } from '../../contract/names.ts';
import { references } from './references/all.ts';

const PAGES = new Map(await references());
/** Compared by test/python/sources.test.ts and test/sdk/reference.test.ts, because their generators are programs. */
const OF_SDKS = ['docs/reference/sdk-python.md', 'docs/reference/sdk-typescript.md'];

it('the pages of docs/reference/ are those that the code gives; `npm run docs` writes them', async () => {
  const committed = (await readdir('docs/reference')).map(name => `docs/reference/${name}`);
  expect(committed.toSorted()).toEqual([...PAGES.keys(), ...OF_SDKS].toSorted());
});

it.each([...PAGES])('%s is what the code gives; `npm run docs` writes it', async (path, text) => {
  expect(await readFile(path, 'utf8')).toBe(text);
});

it('every environment variable that a program reads is in docs/reference/settings.md', () => {
  const page = PAGES.get('docs/reference/settings.md') ?? '';
  expect(Object.values(ENV).filter(name => !page.includes(`| \`${name}\` |`))).toEqual([]);
});
