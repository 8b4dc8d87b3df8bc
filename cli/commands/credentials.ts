import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import type { Command } from 'commander';
import { secretNames } from '../../contract/secrets.ts';
import { repeated } from '../arguments.ts';
import { type Cli, connectController } from '../connect.ts';
import { UsageError } from '../exit.ts';

/** `credentials ...`; `secrets` is its old name. */
export function credentialCommands(program: Command, cli: Cli): void {
  for (const name of ['credentials', 'secrets']) {
    const credentials = program
      .command(name, { hidden: name === 'secrets' })
      .description('manage the site credentials of a user; agents see only their names');
    credentials
      .command('set')
      .description('store or replace a credential; the password is read from the terminal (hidden) or from stdin')
      .argument('<site>', 'site key, e.g. walmart')
      .requiredOption('--user <id>', 'user id')
      .requiredOption('--username <name>', 'username at the site')
      .option('--url <url>', 'where it may be filled: a domain or an https address ; may be repeated', repeated)
      .option('--password-env <variable>', 'read the password from this environment variable')
      .action((site, options) => setCredential(cli, site, options));
    credentials
      .command('list')
      .description('list sites and the names that agents use; values are never shown')
      .requiredOption('--user <id>', 'user id')
      .action(({ user }) => listCredentials(cli, user));
    credentials
      .command('delete')
      .description('delete a credential')
      .argument('<site>', 'site key')
      .requiredOption('--user <id>', 'user id')
      .action((site, { user }) => deleteCredential(cli, site, user));
  }
}

interface SetOptions {
  user: string;
  username: string;
  url?: string[];
  passwordEnv?: string;
}

async function setCredential(cli: Cli, site: string, options: SetOptions): Promise<void> {
  const sessions = await connectController(cli);
  const password = await readPassword(cli, options.passwordEnv);
  await sessions.putCredential(options.user, site, { username: options.username, password, url: options.url });
  cli.out.fields({ site, secret_names: secretNames(site) });
}

async function listCredentials(cli: Cli, user: string): Promise<void> {
  const sessions = await connectController(cli);
  const list = await sessions.listCredentials(user);
  cli.out.rows(
    list,
    ['SITE', 'NAMES', 'FILLED ON'],
    list.sites.map(({ site, secret_names, filled_on, problem }) => [
      site,
      secret_names.join(' ') || '-',
      problem === null ? filled_on.join(' ') : `nowhere: ${problem}`,
    ]),
  );
}

/** Repeating it changes nothing. */
async function deleteCredential(cli: Cli, site: string, user: string): Promise<void> {
  const sessions = await connectController(cli);
  await sessions.deleteCredential(user, site);
  cli.out.fields({ site, deleted: true });
}

/** Never from the command line: every process of the machine can read that. */
async function readPassword(cli: Cli, variable?: string): Promise<string> {
  const password = variable !== undefined ? cli.environment[variable] : await readLine(cli);
  if (password) return password;
  throw new UsageError(
    variable !== undefined
      ? `${variable} is not set.`
      : 'the password is empty; type it, pipe it in, or use --password-env.',
  );
}

/** The first line of stdin; on a terminal it is not echoed. */
async function readLine({ stdin, prompt }: Cli): Promise<string> {
  if (stdin.isTTY) prompt('Password: ');
  const unseen = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: stdin, output: unseen, terminal: stdin.isTTY === true });
  lines.on('SIGINT', () => {
    process.kill(process.pid, 'SIGINT'); // in raw mode Ctrl-C is input, not a signal
    lines.close();
  });
  try {
    for await (const line of lines) return line;
    return '';
  } finally {
    lines.close();
    if (stdin.isTTY) prompt('\n');
  }
}
