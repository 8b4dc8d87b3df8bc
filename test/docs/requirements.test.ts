import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { filesOf, ROOMS } from './files.ts';

const requirements = await readFile('docs/requirements.md', 'utf8');
const DEFINED = [...requirements.matchAll(/^\| ([A-Z]\d+) \|/gm)].map(([, id]) => id ?? '');

/** The families of the tables; S3 is one, so the bucket passes as well. */
const ID = /\b[OADPSCBMGN]\d{1,2}\b/g;

const COMMENT = /^\s*(?:\*|\/\*|\/\/|--)|\s(?:\/\/|--)\s/;

it('every id in a comment or in an ADR is a requirement', async () => {
  const unknown: string[] = [];
  for (const [path, text] of await filesOf(ROOMS, /\.(ts|js|sql)$/))
    for (const line of text.split('\n').filter(line => COMMENT.test(line)))
      for (const [id] of line.matchAll(ID)) if (!DEFINED.includes(id)) unknown.push(`${path}: ${id}: ${line.trim()}`);
  for (const [path, text] of await filesOf(['docs/adr'], /\.md$/))
    for (const [id] of text.matchAll(ID)) if (!DEFINED.includes(id)) unknown.push(`${path}: ${id}`);
  expect(unknown).toEqual([]);
});

it('every id in the title of a test is a requirement', async () => {
  const cited = (await filesOf(['test'], /\.ts$/)).flatMap(([path, text]) =>
    [...text.matchAll(/['"`]\[([A-Z]\d+)\] /g)].map(([, id]) => ({ path, id: id ?? '' })),
  );
  expect(cited.length).toBeGreaterThan(30);
  expect(cited.filter(({ id }) => !DEFINED.includes(id))).toEqual([]);
});

it('every requirement has one row and a state', () => {
  expect(new Set(DEFINED).size).toBe(DEFINED.length);
  const rows = requirements.split('\n').filter(line => /^\| [A-Z]\d+ \|/.test(line));
  expect(rows.filter(row => !/\| (done|part|open)[^|]* \|$/.test(row))).toEqual([]);
});
