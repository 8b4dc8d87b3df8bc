import type { Command } from 'commander';
import { OmicronError } from '../../contract/problem.ts';
import { type Cli, connectController } from '../connect.ts';

/** Runners end and stores answer within this time, or something is wrong with them. */
const WAIT_MS = 120_000;

/** `user`: everything that is kept of a user. */
export function userCommands(program: Command, cli: Cli): void {
  const user = program.command('user').description('manage what is kept of a user');
  user
    .command('delete <user>')
    .description('remove all of a user: sessions, events, files, videos, profiles, credentials, policies, user actions')
    .action(userId => deleteUser(cli, userId));
}

async function deleteUser(cli: Cli, userId: string): Promise<void> {
  const sessions = await connectController(cli);
  const giveUpMs = performance.now() + WAIT_MS;
  for (;;) {
    const erasure = await sessions.deleteUser(userId, { signal: cli.signal });
    if (erasure.done) return cli.out.fields({ user_id: erasure.user_id, ...erasure.removed });
    if (performance.now() > giveUpMs)
      throw new OmicronError(
        'internal_error',
        `Not all of the user is removed after ${WAIT_MS / 1000} s; the controller goes on, and its log says what is left.`,
      );
  }
}
