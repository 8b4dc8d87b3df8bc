import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import type { Command } from 'commander';
import { type ClientCertificate, secretNames } from '../../contract/secrets.ts';
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
      .option('--username <name>', 'username at the site; not needed with --certificate')
      .option('--url <url>', 'where it may be filled: a domain or an https address ; may be repeated', collectOption)
      .option('--password-env <variable>', 'read the password from this environment variable')
      .option(
        '--certificate <file>',
        'client certificate that the browser shows to the site: PKCS#12 (.p12, .pfx), or PEM with its key',
      )
      .option('--key <file>', "the certificate's key in PEM, if it is in another file")
      .option(
        '--passphrase-env <variable>',
        'read the passphrase of the key or PKCS#12 file from this environment variable',
      )
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
  username?: string;
  url?: string[];
  passwordEnv?: string;
  certificate?: string;
  key?: string;
  passphraseEnv?: string;
  totp?: boolean;
}

async function setCredential(cli: Cli, site: string, options: SetOptions): Promise<void> {
  const { user, username, url } = options;
  if (username === undefined && options.certificate === undefined)
    throw new UsageError('give --username, --certificate, or both.');
  if (options.certificate === undefined && (options.key ?? options.passphraseEnv) !== undefined)
    throw new UsageError('--key and --passphrase-env go with --certificate.');
  if (username === undefined && (options.totp === true || options.passwordEnv !== undefined))
    throw new UsageError('--totp and --password-env go with --username.');
  const certificate = await readCertificate(cli, options);
  const sessions = await connectController(cli);
  const login = username === undefined ? {} : { username, ...(await readLogin(cli, options)) };
  await sessions.putCredential(user, site, { ...login, url, client_certificate: certificate });
  cli.out.fields({
    site,
    secret_names: username === undefined ? [] : secretNames(site),
    ...(options.totp === true && { totp: true }),
    ...(certificate && { client_certificate: true }),
  });
}

async function readLogin(cli: Cli, { passwordEnv, totp: hasTotp = false }: SetOptions) {
  const typed = await readLines(cli, [
    ...(passwordEnv === undefined ? ['password'] : []),
    ...(hasTotp ? ['TOTP seed'] : []),
  ]);
  const password = passwordEnv === undefined ? typed.shift() : readVariable(cli, passwordEnv);
  const [totp] = typed;
  return { password, totp };
}

function readVariable({ environment }: Cli, name: string): string {
  const value = environment[name];
  if (!value) throw new UsageError(`${name} is not set.`);
  return value;
}

const PEM = /-----BEGIN /;

/** Reads a certificate and its key; a PEM file may hold both. */
async function readCertificate(
  cli: Cli,
  { certificate: path, key: keyPath, passphraseEnv }: SetOptions,
): Promise<ClientCertificate | undefined> {
  if (path === undefined) return undefined;
  const bytes = await readGivenFile(path);
  const passphrase = passphraseEnv === undefined ? {} : { passphrase: readVariable(cli, passphraseEnv) };
  const text = bytes.toString('latin1');
  if (!PEM.test(text)) return { pkcs12: bytes.toString('base64'), ...passphrase };
  const key = keyPath === undefined ? text : (await readGivenFile(keyPath)).toString('latin1');
  if (!/PRIVATE KEY-----/.test(key))
    throw new UsageError(`${keyPath ?? path} holds no private key in PEM; name the file that does with --key.`);
  return { certificate: text, key, ...passphrase };
}

async function readGivenFile(path: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (cause) {
    throw new UsageError(`${path} cannot be read.`, { cause });
  }
}

async function listCredentials(cli: Cli, user: string): Promise<void> {
  const sessions = await connectController(cli);
  const list = await sessions.listCredentials(user);
  cli.out.rows(
    list,
    ['SITE', 'NAMES', 'FILLED ON'],
    list.sites.map(({ site, secret_names, client_certificate, filled_on, problem }) => [
      site,
      [...secret_names, ...(client_certificate === true ? ['(client certificate)'] : [])].join(' ') || '-',
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
