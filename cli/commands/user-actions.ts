import { Argument, type Command } from 'commander';
import type { BrowserSessions } from '../../client/browser-sessions.ts';
import { userActionAnswer } from '../../contract/user-action.ts';
import { type Cli, connectController } from '../connect.ts';
import { findSession, type SessionName, sessionName, withSessionName } from '../find-session.ts';

const { status } = userActionAnswer.shape;
const ALWAYS = 'always';

/** `session actions` and `session answer`. */
export function userActionCommands(session: Command, cli: Cli): void {
  withSessionName(session.command('actions').description('list user actions: what agents ask of their user')).action(
    (id, options) => listActions(cli, sessionName(id, options)),
  );
  session
    .command('answer')
    .description('answer a user action; the first answer counts')
    .argument('<id>', 'session id')
    .argument('<action>', 'user action id')
    .addArgument(
      new Argument('<answer>', 'whether the user did it; always: the credential may be used there from now on').choices(
        [...status.options, ALWAYS],
      ),
    )
    .option('--note <text>', 'message to the agent')
    .option('--viewer <name>', 'name of the person who answers, for the timeline')
    .action((id, action, answer, { note, viewer }) =>
      answerAction(
        cli,
        id,
        action,
        answer === ALWAYS ? { status: 'done', always: true, note, viewer } : { status: answer, note, viewer },
      ),
    );
}

async function listActions(cli: Cli, name: SessionName): Promise<void> {
  const sessions = await connectController(cli);
  const { session_id } = await findSession(sessions, name);
  const actions = await sessions.listUserActions(session_id);
  cli.out.rows(
    { user_actions: actions },
    ['ACTION', 'STATUS', 'CREATED', 'EXPIRES', 'ANSWERED BY', 'REASON'],
    actions.map(each => [
      each.id,
      each.status,
      each.created_at,
      each.expires_at,
      each.answered_by?.viewer ?? null,
      each.reason,
    ]),
  );
}

async function answerAction(
  cli: Cli,
  sessionId: string,
  actionId: string,
  answer: Parameters<BrowserSessions['answerUserAction']>[2],
): Promise<void> {
  const sessions = await connectController(cli);
  cli.out.fields(await sessions.answerUserAction(sessionId, actionId, answer));
}
