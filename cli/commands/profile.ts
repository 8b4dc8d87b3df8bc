import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import type { Command } from 'commander';
import { profileCheckRequest, profileState } from '../../contract/profile.ts';
import { type Cli, connectController } from '../connect.ts';
import { UsageError } from '../exit.ts';
import { writeNewFile } from '../write-new-file.ts';

/** `profile ...`. */
export function profileCommands(program: Command, cli: Cli): void {
  const profile = program.command('profile').description("manage a user's profiles: logins that outlive a lease");
  const ofUser = (command: Command) => command.requiredOption('--user <id>', 'user id');
  const named = (command: Command) => ofUser(command.argument('<name>', 'profile name, e.g. gmail-work'));
  ofUser(profile.command('list').description('list profiles and the domains that are logged in')).action(({ user }) =>
    listProfiles(cli, user),
  );
  named(profile.command('show').description('show a profile and its versions')).action((name, { user }) =>
    showProfile(cli, user, name),
  );
  named(profile.command('save').description('save a profile now, from the browser that has it')).action(
    async (name, { user }) => {
      const version = await (await connectController(cli)).saveProfile(user, name);
      cli.out.fields({ name, version });
    },
  );
  named(profile.command('check').description('open a page with a profile and look whether it is logged in'))
    .requiredOption('--url <url>', 'page to open')
    .option('--selector <selector>', 'what the page shows when logged in')
    .option('--text <text>', 'the same, by its text')
    .action(async (name, { user, ...page }) => {
      const parsed = profileCheckRequest.safeParse(page);
      if (!parsed.success) throw new UsageError('Give --url, http or https, and either --selector or --text.');
      cli.out.fields({ name, ...(await (await connectController(cli)).checkProfile(user, name, parsed.data)) });
    });
  named(profile.command('restore').description('make an older version the current one'))
    .argument('[version]', 'number of the version, as show lists it (default: the one before the current one)')
    .action((name, version, { user }) => restoreProfile(cli, user, name, version));
  named(profile.command('delete').description('delete a profile and all its versions')).action(
    async (name, { user }) => {
      await (await connectController(cli)).deleteProfile(user, name);
      cli.out.fields({ name, deleted: true });
    },
  );
  named(profile.command('export').description("write a profile to FILE (- for stdout) as Playwright's storageState"))
    .argument('<file>', 'file to write; its reader is logged in as the user')
    .action((name, file, { user }) => exportProfile(cli, user, name, file));
  named(profile.command('import').description("store FILE (- for stdin), a storageState of Playwright's, as a profile"))
    .argument('<file>', 'file to read')
    .action((name, file, { user }) => importProfile(cli, user, name, file));
}

async function listProfiles(cli: Cli, user: string): Promise<void> {
  const profiles = await (await connectController(cli)).listProfiles(user);
  cli.out.rows(
    { profiles },
    ['NAME', 'VERSION', 'BYTES', 'SAVED', 'LOGGED IN'],
    profiles.map(({ name, version, bytes, saved_at, domains }) => [
      ...[name, version, bytes, saved_at],
      domains.flatMap(({ domain, logged_in }) => (logged_in ? [domain] : [])).join(' '),
    ]),
  );
}

async function showProfile(cli: Cli, user: string, name: string): Promise<void> {
  const { versions, ...profile } = await (await connectController(cli)).getProfile(user, name);
  cli.out.fields(profile, { versions });
}

async function restoreProfile(cli: Cli, user: string, name: string, text: string | undefined): Promise<void> {
  const wanted = text === undefined ? undefined : Number(text);
  if (wanted !== undefined && (!Number.isInteger(wanted) || wanted < 1))
    throw new UsageError('The version must be a number, e.g. 3.');
  const version = await (await connectController(cli)).restoreProfile(user, name, wanted);
  cli.out.fields({ name, version });
}

async function exportProfile(cli: Cli, user: string, name: string, file: string): Promise<void> {
  const state = await (await connectController(cli)).exportProfile(user, name);
  if (file === '-') return cli.out.fields({ ...state });
  await writeNewFile(file, JSON.stringify(state), 0o600);
  cli.out.fields({ name, file });
}

async function importProfile(cli: Cli, user: string, name: string, file: string): Promise<void> {
  const content = file === '-' ? await text(cli.stdin) : await readFile(file, 'utf8');
  const parsed = profileState.safeParse(jsonOf(content));
  // an error of the parser may quote a cookie
  if (!parsed.success) throw new UsageError(`${file} is not a storageState of Playwright's.`);
  const version = await (await connectController(cli)).importProfile(user, name, parsed.data);
  cli.out.fields({ name, version });
}

function jsonOf(content: string): unknown {
  try {
    return JSON.parse(content);
  } catch {
    return undefined;
  }
}
