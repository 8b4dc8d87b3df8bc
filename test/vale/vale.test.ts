import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { filesOf, pages } from '../docs/files.ts';
import { avoidedWords } from '../docs/prose.ts';
import { newFolder, ROOT, run } from '../local/machine.ts';
import { buildVale } from './build.ts';

// Vale reads sentences and headings as Markdown has them; its rules are in styles/.

let missing = '';
const vale = buildVale(reason => {
  missing = reason;
});
if (vale === undefined) process.stderr.write(`\n${missing}\n`);
/** Without Vale the tests are skipped under a name that says so. */
const itWithVale = (name: string, test: () => Promise<void>) =>
  vale === undefined ? it.skip(`${name} (skipped: Vale needs Go 1.26 or newer)`, test) : it(name, test, 60_000);

const lint = async (...files: string[]): Promise<string[]> => {
  const { stdout, stderr } = await run(vale ?? '', ['--config', join(ROOT, '.vale.ini'), '--output=line', ...files]);
  expect(stderr).toBe('');
  return stdout.split('\n').filter(line => line !== '');
};

itWithVale('has nothing to say of the documentation', async () => {
  const read = [...(await pages()), ...(await filesOf(['clients'], /README\.md$/))].map(([path]) => path);
  expect(await lint(...read, 'SECURITY.md', 'CHANGELOG.md')).toEqual([]);
});

itWithVale('finds what its rules are for', async () => {
  const page = join(await newFolder(), 'page.md');
  const long = 'word '.repeat(46);
  await writeFile(
    page,
    `# How To Freeze Every Browser\n\nWhat is left of it stays. It ends but for one. Nobody sees it.\n\nIt is ${long}.\n`,
  );
  const rules = (await lint(page)).map(line => /Omicron\.\w+/.exec(line)?.[0]);
  expect(rules.toSorted()).toEqual(
    ['Avoid', 'Headings', 'Length', 'Phrases', 'SentenceStart'].map(rule => `Omicron.${rule}`),
  );
});

it('avoids the words that the glossary avoids', async () => {
  const { tokens } = parse(await readFile('test/vale/styles/Omicron/Avoid.yml', 'utf8'));
  expect(tokens).toEqual(avoidedWords(await readFile('docs/glossary.md', 'utf8')));
});
