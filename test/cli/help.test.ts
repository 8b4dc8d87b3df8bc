import { PassThrough } from 'node:stream';
import type { Command } from 'commander';
import { expect, it } from 'vitest';
import { EXAMPLES, listCommands } from '../../cli/help.ts';
import { createProgram } from '../../cli/program.ts';
import { runHere } from './run-here.ts';

const { program } = createProgram({
  environment: {},
  signal: new AbortController().signal,
  stdin: new PassThrough() as unknown as NodeJS.ReadStream,
  stdout: { write: () => {} },
  stderr: { write: () => {} },
});
const COMMANDS = new Map<string, Command>(listCommands(program));

it.each(Object.entries(EXAMPLES))('the examples of %s name that command and options that it has', (path, lines) => {
  const command = COMMANDS.get(path);
  const flags = [...(command?.options ?? []), ...program.options].flatMap(({ short, long }) => [short, long]);
  for (const line of lines) {
    expect(line === path || line.startsWith(`${path} `), line).toBe(true);
    expect((line.match(/(?<= )--?[a-z][a-z-]*/g) ?? []).filter(flag => !flags.includes(flag))).toEqual([]);
  }
});

it('help of a command ends with its examples, that of the program with exit codes', async () => {
  const start = await runHere(['session', 'start', '--help'], { environment: {} });
  expect(start.stdout).toContain('Examples:\n  omicron-browser session start --user ada');
  const root = await runHere(['--help'], { environment: {} });
  expect(root.stdout).toContain('  5    429, 503 or unreachable; may succeed later');
});
