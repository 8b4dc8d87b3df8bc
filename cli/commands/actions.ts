import type { BrowserSessions } from '../../client/browser-sessions.ts';
import { UsageError } from './exit.ts';
import { findSession, type SessionName } from './find-session.ts';
import type { Output } from './output.ts';

/** `session actions`: what the session's agents asked of their person. */
export async function listActions(sessions: BrowserSessions, out: Output, name: SessionName): Promise<void> {
  const { session_id } = await findSession(sessions, name);
  const actions = await sessions.listUserActions(session_id);
  out.rows(
    { user_actions: actions },
    ['ACTION', 'STATUS', 'ASKED', 'UNTIL', 'REASON'],
    actions.map(each => [each.id, each.status, each.created_at, each.expires_at, each.reason]),
  );
}

/** `session answer`: the first answer counts; what is printed is how the request stands then. */
export async function answerAction(
  sessions: BrowserSessions,
  out: Output,
  name: SessionName,
  action: string,
  answer: string,
  { note }: { note?: string },
): Promise<void> {
  if (answer !== 'done' && answer !== 'declined')
    throw new UsageError(`the answer is done or declined, not "${answer}".`);
  const { session_id } = await findSession(sessions, name);
  out.fields(
    await sessions.answerUserAction(session_id, action, { status: answer, ...(note === undefined ? {} : { note }) }),
  );
}
