import { readdir, readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { ENV } from '../../contract/names.ts';
import { references } from './references/all.ts';

const PAGES = new Map(await references());

it('the pages of docs/reference/ are those that the code gives; `npm run docs` writes them', async () => {
  const committed = (await readdir('docs/reference')).map(name => `docs/reference/${name}`);
  expect(committed.toSorted()).toEqual([...PAGES.keys()].toSorted());
});

it.each([...PAGES])('%s is what the code gives; `npm run docs` writes it', async (path, text) => {
  expect(await readFile(path, 'utf8')).toBe(text);
});

it('every environment variable that a program reads is in docs/reference/settings.md', () => {
  const page = PAGES.get('docs/reference/settings.md') ?? '';
  expect(Object.values(ENV).filter(name => !page.includes(`| \`${name}\` |`))).toEqual([]);
});
