import { expect, it } from 'vitest';
import { PROBLEMS } from '../../contract/problem.ts';
import { filesOf, pages } from './files.ts';
import { anyOf, avoidedWords } from './prose.ts';

const PAGES = new Map(await pages());
const AVOID = avoidedWords(PAGES.get('docs/glossary.md') ?? '');

const found = (text: string): string[] => {
  const avoided = anyOf(AVOID);
  return text.split('\n').filter(line => avoided.test(line));
};

it('the glossary lists words to avoid', () => {
  expect(AVOID).toContain('whoever');
  expect(AVOID.length).toBeGreaterThan(20);
});

it('the documentation uses none of them', () => {
  const lines = [...PAGES]
    .filter(([page]) => page !== 'docs/glossary.md')
    .flatMap(([page, text]) => found(text).map(line => `${page}: ${line}`));
  expect(lines).toEqual([]);
});

it('[S12] no page, and no message, advises to switch the sandbox off', async () => {
  const texts = [...PAGES, ...(await filesOf(['cli', 'controller', 'runner', 'local', 'client'], /\.(ts|js)$/))];
  const advice = /CHROMIUM_SANDBOX=off|chromiumSandbox\}=off/;
  const lines = texts.flatMap(([file, text]) =>
    text
      .split('\n')
      // The runner's line when it is off all the same is a warning.
      .filter(line => advice.test(line) && !line.includes('WITHOUT its sandbox'))
      .map(line => `${file}: ${line}`),
  );
  expect(lines).toEqual([]);
});

it('the titles of problems use none of them', () => {
  expect(Object.values(PROBLEMS).flatMap(({ title }) => found(title))).toEqual([]);
});

it('the command uses none of them', async () => {
  const lines = (await filesOf(['cli'], /\.ts$/)).flatMap(([file, text]) =>
    found(text).map(line => `${file}: ${line}`),
  );
  expect(lines).toEqual([]);
});
