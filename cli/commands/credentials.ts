import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import type { Command } from 'commander';
import { secretNames } from '../../contract/secrets.ts';
import { collectOption } from '../arguments.ts';
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
      .description(
        'store or replace a credential; its secrets are read from the terminal (hidden) or from stdin, a line each',
      )
      .argument('<site>', 'site key, e.g. walmart')
      .requiredOption('--user <id>', 'user id')
      .requiredOption('--username <name>', 'username at the site')
      .option('--url <url>', 'where it may be filled: a domain or an https address ; may be repeated', collectOption)
      .option('--password-env <variable>', 'read the password from this environment variable')
      .option(
        '--totp',
        'store the seed of its one-time codes too, base32 or otpauth://, which is read after the password',
      )
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
  totp?: boolean;
}

async function setCredential(cli: Cli, site: string, options: SetOptions): Promise<void> {
  const sessions = await connectController(cli);
  const { user, username, url, passwordEnv, totp: hasTotp = false } = options;
  const typed = await readLines(cli, [
    ...(passwordEnv === undefined ? ['password'] : []),
    ...(hasTotp ? ['TOTP seed'] : []),
  ]);
  const password = passwordEnv === undefined ? typed.shift() : cli.environment[passwordEnv];
  if (!password) throw new UsageError(`${passwordEnv} is not set.`);
  const [totp] = typed;
  await sessions.putCredential(user, site, { username, password, url, totp });
  cli.out.fields({ site, secret_names: secretNames(site), ...(hasTotp && { totp: true }) });
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

/**
 * Lines of stdin, one for each name; on a terminal none is echoed. Never arguments of the command line, which every process of the machine
 * can read. Throws UsageError for one that is empty.
 */
async function readLines({ stdin, prompt }: Cli, names: readonly string[]): Promise<string[]> {
  if (names.length === 0) return [];
  const unseen = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: stdin, output: unseen, terminal: stdin.isTTY === true });
  lines.on('SIGINT', () => {
    process.kill(process.pid, 'SIGINT'); // in raw mode Ctrl-C is input, not a signal
    lines.close();
  });
  const given = lines[Symbol.asyncIterator]();
  const read: string[] = [];
  try {
    for (const name of names) {
      if (stdin.isTTY) prompt(`${name}: `);
      const { value = '' } = await given.next();
      if (stdin.isTTY) prompt('\n');
      if (value === '') throw new UsageError(`the ${name} is empty; type it, or pipe it in.`);
      read.push(value);
    }
    return read;
  } finally {
    lines.close();
  }
}
