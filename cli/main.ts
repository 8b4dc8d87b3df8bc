import { Command, CommanderError, Option } from 'commander';
import { credentialCommands } from './commands/credentials.ts';
import { machineCommands } from './commands/machine.ts';
import { policyCommands } from './commands/policy.ts';
import { sessionCommands } from './commands/session.ts';
import type { Cli } from './connect.ts';
import { EXIT, errorLine, exitCodeOf } from './exit.ts';
import { OUTPUT_FORMATS, type OutputFormat, output } from './output.ts';
import manifest from './package.json' with { type: 'json' };

// Entry of the command `omicron-browser`: reads the command line and the environment, runs one command, exits.

/** A signal sent to the process group arrives twice: directly and through bin.js. */
const SAME_SIGNAL_MS = 1_000;

const stop = new AbortController();
let stoppedAtMs = 0;
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(name, () => {
    if (!stop.signal.aborted) {
      stoppedAtMs = performance.now();
      stop.abort(new Error(`stopped by ${name}`));
    } else if (performance.now() - stoppedAtMs > SAME_SIGNAL_MS) process.exit(130);
  });

// Writing to a closed terminal or to `| head` fails: a stack must stop cleanly all the same.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});

const program = new Command('omicron-browser')
  .description('Leased, isolated browsers for AI agents: run the local stack, and manage sessions of any controller')
  .version(manifest.version)
  .addOption(new Option('--folder <path>', 'folder of the local stack').default('.omicron').env('OMICRON_FOLDER'))
  .addOption(
    new Option('-o, --output <format>', 'output format (default: table on a terminal, else json)').choices(
      OUTPUT_FORMATS,
    ),
  )
  .exitOverride()
  .configureHelp({ showGlobalOptions: true });

const options = () => program.opts<{ folder: string; output?: OutputFormat }>();
const cli: Cli = {
  environment: process.env,
  signal: stop.signal,
  stdin: process.stdin,
  stderr: process.stderr,
  get folder() {
    return options().folder;
  },
  get out() {
    return output(options().output ?? (process.stdout.isTTY ? 'table' : 'json'), process.stdout);
  },
  progress: line => void process.stderr.write(`${line}\n`),
};
machineCommands(program, cli);
sessionCommands(program, cli);
policyCommands(program, cli);
credentialCommands(program, cli);

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) {
    // commander has printed what is wrong; help and version are no errors
    process.exitCode = error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  } else {
    process.stderr.write(`${errorLine(error)}\n`);
    process.exitCode = stop.signal.aborted ? 130 : exitCodeOf(error);
  }
}
