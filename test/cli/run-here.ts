import { PassThrough } from 'node:stream';
import { runCommand } from '../../cli/program.ts';
import type { Finished } from '../local/machine.ts';

/**
 * Runs a command line of `omicron-browser` in this process: a process of its own, as `command` starts it, loads the program for half a
 * second of a core. Signals, exit codes of the shell and a standard input that stays open need `command`.
 */
export async function runHere(
  args: readonly string[],
  options: { environment: Record<string, string>; input?: string; isTTY?: boolean },
): Promise<Finished> {
  const { environment, input = '', isTTY = false } = options;
  const written = { stdout: '', stderr: '' };
  const code = await runCommand(args, {
    environment,
    signal: new AbortController().signal,
    stdin: new PassThrough().end(input) as unknown as NodeJS.ReadStream, // a pipe, as far as the commands use it
    stdout: {
      isTTY,
      write: text => {
        written.stdout += text;
      },
    },
    stderr: {
      write: text => {
        written.stderr += text;
      },
    },
  });
  return { code, ...written };
}
