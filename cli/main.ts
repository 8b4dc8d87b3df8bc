import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { answerAction, listActions } from './commands/actions.ts';
import { type Context, connectController } from './commands/connect.ts';
import { EXIT, errorLine, exitCodeOf } from './commands/exit.ts';
import { output } from './commands/output.ts';
import { applyPolicy, deletePolicy, showPolicy, testPolicy } from './commands/policy.ts';
import { deleteSecret, listSecrets, setSecret } from './commands/secrets.ts';
import { archiveSession, closeSession, listSessions, showSession, startSession } from './commands/session.ts';
import manifest from './package.json' with { type: 'json' };

// Entry of the command `omicron-browser`: reads the command line and the environment, runs one command, exits. What needs the
// stack, a browser or MCP is loaded when it is asked for: the rest answers in a third of the time.

/** Who signals a whole process group (systemd, timeout) reaches this process twice: itself, and by way of bin.js. */
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

// Nobody reads any more (a closed terminal, `| head`): a stack must still end whole, not die of its last line.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});

const program = new Command('omicron-browser')
  .description('Leased, isolated browsers for AI agents: the local stack, and sessions of any controller')
  .version(manifest.version)
  .addOption(new Option('--folder <path>', 'folder of the local stack').default('.omicron').env('OMICRON_FOLDER'))
  .option('-o, --output <format>', 'json or table (a table on a terminal, else JSON)')
  .exitOverride()
  .configureHelp({ showGlobalOptions: true });

const context = (): Context => ({
  environment: process.env,
  folder: program.opts<{ folder: string }>().folder,
  signal: stop.signal,
});
const out = () => output(program.opts<{ output?: string }>().output, process.stdout);
const progress = (line: string) => process.stderr.write(`${line}\n`);

const number = (text: string): number => {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value) || value < 0)
    throw new InvalidArgumentError('It must be a number.');
  return value;
};
const collect = (value: string, before: string[]) => [...before, value];

program
  .command('up')
  .description('run the local stack here: controller, database, warm browsers; until Ctrl-C')
  .option('--port <port>', "port of the controller (last time's, else any)", number)
  .option('--pool <count>', 'browsers kept warm (1)', number)
  .action(async options => {
    const { up } = await import('./commands/up.ts');
    await up(context(), options, progress);
  });

program
  .command('smoke <url>')
  .description('one session, whole: start, go to the page, extract title and text, screenshot, archive')
  .option('--screenshot <path>', 'where the picture goes (smoke.png in the folder)')
  .action(async (url, options) => {
    const { smoke } = await import('./commands/smoke.ts');
    await smoke(context(), out(), url, options, progress);
  });

const session = program.command('session').description('sessions of the controller');
const named = (command: Command) =>
  command
    .argument('[id]', 'id of the session')
    .option('--user <id>', 'its user')
    .option('--conversation <id>', 'its conversation');

session
  .command('start')
  .description('lease the browser of a conversation; it is kept for its time to live')
  .requiredOption('--user <id>', 'user')
  .requiredOption('--conversation <id>', 'conversation')
  .option('--ttl <seconds>', 'time to live after the last use (600)', number)
  .option('--wait <seconds>', 'how long to wait for a browser (60)', number)
  .option('--no-video', 'do not record')
  .option('--tag <key=value>', 'tag the session; may be repeated', collect, [])
  .option('--require-credentials', 'fail when the user has stored none')
  .option('--show-token', "show the lease's bearer token")
  .action(async options => startSession(await connectController(context()), out(), options, stop.signal));
session
  .command('list')
  .description('sessions, newest first')
  .option('--user <id>', 'of this user')
  .option('--conversation <id>', 'of this conversation')
  .option('--status <state>', 'starting, ready, ended or error')
  .option('--tag <key=value>', 'with this tag; may be repeated', collect, [])
  .option('--archived', 'archived ones too')
  .option('--limit <count>', 'at most so many (50)', number)
  .option('--cursor <cursor>', 'next_cursor of the page before')
  .action(async options => listSessions(await connectController(context()), out(), options));
named(session.command('show').description('one session and its recordings'))
  .option('--events', 'its timeline too')
  .action(async (id, options) => showSession(await connectController(context()), out(), { id, ...options }, options));
named(session.command('close').description('end its lease')).action(async (id, options) =>
  closeSession(await connectController(context()), out(), { id, ...options }),
);
named(session.command('archive').description('end its lease and take it off the list')).action(async (id, options) =>
  archiveSession(await connectController(context()), out(), { id, ...options }),
);

session
  .command('actions [id]')
  .description('what its agents asked of their person')
  .option('--user <id>', 'its user')
  .option('--conversation <id>', 'its conversation')
  .action(async (id, options) => listActions(await connectController(context()), out(), { id, ...options }));
session
  .command('answer <id> <action> <answer>')
  .description('answer one request: done or declined')
  .option('--note <text>', 'what the agent should know')
  .action(async (id, action, answer, options) =>
    answerAction(await connectController(context()), out(), { id }, action, answer, options),
  );

const policy = program.command('policy').description('what sessions may do: of the deployment, a user, or a session');
const owned = (command: Command) =>
  command.option('--user <id>', "this user's").option('--session <id>', "this session's");
owned(policy.command('show').description("one layer's document"))
  .option('--effective', 'every layer that applies to the session')
  .action(async options => showPolicy(await connectController(context()), out(), options));
owned(
  policy.command('apply <file>').description('replace it with the document of a file, or of - (standard input)'),
).action(async (file, options) => applyPolicy(await connectController(context()), out(), file, options, process.stdin));
owned(policy.command('delete').description('delete it')).action(async options =>
  deletePolicy(await connectController(context()), out(), options),
);
policy
  .command('test <tool> [arguments]')
  .description('which rule decides a call with these arguments (JSON), under the policy of a session or of a file')
  .option('--session <id>', 'under every layer that applies to it')
  .option('--file <path>', "under this document as the deployment's; needs no controller")
  .option('--untrusted', 'as if the agent had seen web content')
  .action(async (tool, args, options) => testPolicy(() => connectController(context()), out(), tool, args, options));

const secrets = program.command('secrets').description('site credentials of a user; an agent only sees their names');
secrets
  .command('set <site>')
  .description('store or replace one; the password is typed unseen, or piped in')
  .requiredOption('--user <id>', 'whose')
  .requiredOption('--username <name>', 'user name at the site')
  .option('--password-env <variable>', 'take the password from this environment variable')
  .action(async (site, options) =>
    setSecret(await connectController(context()), out(), site, options, {
      stdin: process.stdin,
      stderr: process.stderr,
      environment: process.env,
    }),
  );
secrets
  .command('list')
  .description('sites and names; never a value')
  .requiredOption('--user <id>', 'whose')
  .action(async options => listSecrets(await connectController(context()), out(), options));
secrets
  .command('delete <site>')
  .description('delete one')
  .requiredOption('--user <id>', 'whose')
  .action(async (site, options) => deleteSecret(await connectController(context()), out(), site, options));

program
  .command('doctor')
  .description('check this machine: node, browser, ffmpeg, sandbox, disk, memory, controller')
  .option('--cluster', 'check the deployment on the cluster that KUBECONFIG names instead')
  .action(async options => {
    const { doctor } = await import('./commands/doctor.ts');
    if (!(await doctor(context(), out(), options))) process.exitCode = EXIT.failed;
  });

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) {
    // commander has said what is wrong; help and version are no errors
    process.exitCode = error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  } else {
    process.stderr.write(`${errorLine(error)}\n`);
    process.exitCode = stop.signal.aborted ? 130 : exitCodeOf(error);
  }
}
