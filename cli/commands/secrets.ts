import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import type { BrowserSessions } from '../../client/browser-sessions.ts';
import { secretNames } from '../../contract/secrets.ts';
import { UsageError } from './exit.ts';
import type { Output } from './output.ts';

/** Where a password comes from; never the command line, which every process of the machine can read. */
export interface PasswordSource {
  stdin: NodeJS.ReadStream;
  /** Where the question is asked. */
  stderr: NodeJS.WriteStream;
  environment: Record<string, string | undefined>;
}

/** `secrets set`: stores or replaces the credential of one site. */
export async function setSecret(
  sessions: BrowserSessions,
  out: Output,
  site: string,
  options: { user: string; username: string; passwordEnv?: string },
  source: PasswordSource,
): Promise<void> {
  const password = await readPassword(source, options.passwordEnv);
  await sessions.putCredential(options.user, site, { username: options.username, password });
  out.fields({ site, secret_names: secretNames(site) });
}

/** `secrets list`: sites, and the names an agent uses; never a value. */
export async function listSecrets(sessions: BrowserSessions, out: Output, { user }: { user: string }): Promise<void> {
  const list = await sessions.listCredentials(user);
  out.rows(
    list,
    ['SITE', 'NAMES'],
    list.sites.map(({ site, secret_names }) => [site, secret_names.join(' ')]),
  );
}

/** `secrets delete`: repeating it changes nothing. */
export async function deleteSecret(
  sessions: BrowserSessions,
  out: Output,
  site: string,
  { user }: { user: string },
): Promise<void> {
  await sessions.deleteCredential(user, site);
  out.fields({ site, deleted: true });
}

async function readPassword({ stdin, stderr, environment }: PasswordSource, variable?: string): Promise<string> {
  const password = variable !== undefined ? environment[variable] : await readLine(stdin, stderr);
  if (password) return password;
  throw new UsageError(
    variable !== undefined
      ? `${variable} is not set.`
      : 'the password is empty; type it, pipe it in, or use --password-env.',
  );
}

/** The first line of what is piped in, or what is typed, unseen. */
async function readLine(stdin: NodeJS.ReadStream, stderr: NodeJS.WriteStream): Promise<string> {
  if (stdin.isTTY) stderr.write('Password: ');
  const unseen = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: stdin, output: unseen, terminal: stdin.isTTY === true });
  lines.on('SIGINT', () => {
    process.kill(process.pid, 'SIGINT'); // the terminal gave it to us instead
    lines.close();
  });
  try {
    for await (const line of lines) return line;
    return '';
  } finally {
    lines.close();
    if (stdin.isTTY) stderr.write('\n');
  }
}
