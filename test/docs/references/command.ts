import { PassThrough } from 'node:stream';
import type { Command, Option } from 'commander';
import { EXIT, EXIT_MEANINGS } from '../../../cli/exit.ts';
import { EXAMPLES, listCommands } from '../../../cli/help.ts';
import { createProgram } from '../../../cli/program.ts';
import { code, page, table } from './table.ts';

const program = (): Command =>
  createProgram({
    environment: {},
    signal: new AbortController().signal,
    stdin: new PassThrough() as unknown as NodeJS.ReadStream, // never read: no command runs
    stdout: { write: () => {} },
    stderr: { write: () => {} },
  }).program;

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

const defaultOf = ({ defaultValue }: Option): string =>
  typeof defaultValue === 'string' ? ` (default: ${code(defaultValue)})` : '';

/** Arguments and options as rows of one table. */
function rowsOf(command: Command): string[][] {
  const values = (choices: readonly string[] | undefined) => (choices ?? []).map(code).join(', ');
  return [
    ...command.registeredArguments.map(argument => [
      code(argument.required ? `<${argument.name()}>` : `[${argument.name()}]`),
      argument.description,
      values(argument.argChoices),
    ]),
    ...command.options.map(option => [
      code(option.flags),
      `${option.description}${option.mandatory ? ' (required)' : defaultOf(option)}`,
      values(option.argChoices),
    ]),
  ];
}

function section(path: string, command: Command): string[] {
  const examples = EXAMPLES[path]?.map(line => `    omicron-browser ${line}`);
  const rows = rowsOf(command);
  return [
    code(path),
    sentence(command.description()),
    ...(rows.length === 0 ? [] : [table(['argument or option', 'meaning', 'values'], rows)]),
    ...(examples === undefined ? [] : [examples.join('\n')]),
  ];
}

/** docs/reference/command.md. */
export function commandPage(): string {
  const root = program();
  return page(
    '`cli/`',
    'The command omicron-browser',
    '`npx --no-install omicron-browser` in a clone, `node PATH-OF-THE-CLONE/cli/bin.js` elsewhere: no registry has the package yet, and `--no-install` keeps npx from looking for one there. It calls the controller of `OMICRON_CONTROLLER_URL` and `OMICRON_SERVICE_JWT_SECRET`, else the stack that runs in `--folder`. Answers go to stdout: a table on a terminal, JSON when piped or with `-o json`. Progress and errors go to stderr, an error as one line `code: what to do` ([codes](errors.md)).',
    [
      ['Global options', table(['argument or option', 'meaning', 'values'], rowsOf(root))],
      [
        'Exit codes',
        table(
          ['code', 'meaning'],
          Object.entries(EXIT).map(([name, exit]) => [String(exit), EXIT_MEANINGS[name as keyof typeof EXIT]]),
        ),
      ],
      ...listCommands(root).map(([path, command]) => section(path, command)),
    ],
  );
}
