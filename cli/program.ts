import { Command, CommanderError, Option } from 'commander';
import { ENV } from '../contract/names.ts';
import { artifactCommands } from './commands/artifacts.ts';
import { auditCommands } from './commands/audit.ts';
import { costCommand } from './commands/cost.ts';
import { credentialCommands } from './commands/credentials.ts';
import { eventsCommand } from './commands/events.ts';
import { fileCommands } from './commands/file.ts';
import { machineCommands } from './commands/machine.ts';
import { pageCommands } from './commands/page.ts';
import { policyCommands } from './commands/policy.ts';
import { profileCommands } from './commands/profile.ts';
import { sessionCommands } from './commands/session.ts';
import { usageCommand } from './commands/usage.ts';
import { userCommands } from './commands/user.ts';
import { verifyCommand } from './commands/verify.ts';
import { webhookCommands } from './commands/webhook.ts';
import type { Cli } from './connect.ts';
import { EXIT, errorLine, exitCodeOf } from './exit.ts';
import { addHelp } from './help.ts';
import { OUTPUT_FORMATS, type OutputFormat, output } from './output.ts';
import manifest from './package.json' with { type: 'json' };

/** The process that runs a command; a test gives its own. */
export interface Process {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Aborts on Ctrl-C. */
  readonly signal: AbortSignal;
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: { isTTY?: boolean; write(text: string): unknown };
  readonly stderr: { write(text: string): unknown };
}

/** The command with everything that it can do; `cli` is what its commands get when they run. */
export function createProgram({ environment, signal, stdin, stdout, stderr }: Process): { program: Command; cli: Cli } {
  const program = new Command('omicron-browser')
    .description('Leased, isolated browsers for AI agents: run the local stack, and manage sessions of any controller')
    .version(manifest.version)
    .addOption(new Option('--folder <path>', 'folder of the local stack').default('.omicron').env(ENV.folder))
    .addOption(
      new Option('-o, --output <format>', 'output format (default: table on a terminal, else json)').choices(
        OUTPUT_FORMATS,
      ),
    )
    .exitOverride()
    .configureOutput({ writeOut: text => stdout.write(text), writeErr: text => stderr.write(text) })
    .configureHelp({ showGlobalOptions: true });

  const options = () => program.opts<{ folder: string; output?: OutputFormat }>();
  const cli: Cli = {
    environment,
    signal,
    stdin,
    exitCode: EXIT.ok,
    get folder() {
      return options().folder;
    },
    get out() {
      return output(options().output ?? (stdout.isTTY ? 'table' : 'json'), stdout);
    },
    prompt: text => void stderr.write(text),
    progress: line => void stderr.write(`${line}\n`),
  };
  machineCommands(program, cli);
  sessionCommands(program, cli);
  fileCommands(program, cli);
  artifactCommands(program, cli);
  pageCommands(program, cli);
  policyCommands(program, cli);
  credentialCommands(program, cli);
  profileCommands(program, cli);
  usageCommand(program, cli);
  costCommand(program, cli);
  verifyCommand(program, cli);
  eventsCommand(program, cli);
  webhookCommands(program, cli);
  auditCommands(program, cli);
  userCommands(program, cli);
  addHelp(program);
  return { program, cli };
}

/** Runs one command line, without `node` and the program's name, and returns its exit code. */
export async function runCommand(args: readonly string[], process: Process): Promise<number> {
  const { program, cli } = createProgram(process);
  try {
    await program.parseAsync(args, { from: 'user' });
    return cli.exitCode;
  } catch (error) {
    // commander has printed what is wrong; help and version are no errors
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    cli.progress(errorLine(error));
    return process.signal.aborted ? EXIT.interrupted : exitCodeOf(error);
  }
}
