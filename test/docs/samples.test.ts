import { readFile } from 'node:fs/promises';
import { PassThrough } from 'node:stream';
import type { Command } from 'commander';
import { expect, it } from 'vitest';
import { createProgram } from '../../cli/program.ts';
import { filesOf, pages } from './files.ts';
import { commandsOf, samplesOf } from './samples.ts';

const PAGES = [
  ...(await pages()).filter(([page]) => !page.startsWith('docs/reference/')),
  ...(await filesOf(['clients', 'examples'], /README\.md$/)),
];

it('every fenced block is marked `run`, and test/samples/ runs it, or `shown`', () => {
  const samples = PAGES.flatMap(([page, text]) => samplesOf(page, text));
  expect(samples.filter(({ mark }) => mark !== 'run' && mark !== 'shown').map(({ place }) => place)).toEqual([]);
  expect(samples.filter(({ mark, language }) => mark === 'run' && !['ts', 'python'].includes(language))).toEqual([]);
  expect(samples.filter(({ mark }) => mark === 'run').length).toBeGreaterThan(10);
});

it('every script of npm that a page names exists', async () => {
  const { scripts } = JSON.parse(await readFile('package.json', 'utf8'));
  const named = PAGES.flatMap(([page, text]) =>
    [...text.matchAll(/\bnpm (?:run (?:-s |--silent )?([a-z:-]+)|(test|start))\b/g)].map(([, script, own]) => ({
      page,
      script: script ?? own ?? '',
    })),
  );
  expect(named.filter(({ script }) => !(script in scripts))).toEqual([]);
  expect(named.length).toBeGreaterThan(30);
});

const { program } = createProgram({
  environment: {},
  signal: new AbortController().signal,
  stdin: new PassThrough() as unknown as NodeJS.ReadStream, // never read: no command runs
  stdout: { write: () => {} },
  stderr: { write: () => {} },
});

/** The first word of a command that the program does not know. */
function unknownWord(words: readonly string[]): string | undefined {
  const known: Command[] = [program];
  for (const word of words) {
    const command = known.at(-1);
    if (word.startsWith('-')) {
      const flag = word.replace(/=.*$/, '');
      if (
        flag !== '--help' &&
        !known.some(each => each.options.some(({ long, short }) => flag === long || flag === short))
      )
        return word;
    } else if (command !== undefined && command.commands.length > 0 && !isValue(words, word)) {
      const next = command.commands.find(each => each.name() === word);
      if (next === undefined) return word;
      known.push(next);
    }
  }
  return undefined;
}

/** Whether a word is the value of the option before it. */
const isValue = (words: readonly string[], word: string): boolean =>
  words[words.indexOf(word) - 1]?.startsWith('--') ?? false;

it('every command of omicron-browser that a page names exists, with its options', () => {
  const commands = PAGES.flatMap(([page, text]) => commandsOf(text).map(command => ({ page, command })));
  const unknown = commands.flatMap(({ page, command }) => {
    const word = unknownWord(command.split(/\s+/).filter(each => each !== ''));
    return word === undefined ? [] : [`${page}: ${command}: ${word}`];
  });
  expect(unknown).toEqual([]);
  expect(commands.length).toBeGreaterThan(20);
});

it('finds a command and an option that do not exist', () => {
  expect(unknownWord(['session', 'finish'])).toBe('finish');
  expect(unknownWord(['session', 'list', '--sorted'])).toBe('--sorted');
  expect(unknownWord(['session', 'list', '--user', 'ada'])).toBeUndefined();
  expect(commandsOf('Run `npx --no-install omicron-browser doctor --cluster`.')).toEqual(['doctor --cluster']);
});
