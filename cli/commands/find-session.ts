import type { BrowserSessions } from '../../client/browser-sessions.ts';
import { OmicronError } from '../../contract/problem.ts';
import type { Session } from '../../contract/session.ts';
import { UsageError } from './exit.ts';

/** How a command names its session: by id, or by the user and conversation it belongs to (S1). */
export interface SessionName {
  id?: string | undefined;
  user?: string | undefined;
  conversation?: string | undefined;
}

/** Throws `session_not_found` when there is none, or when id and names do not belong together. */
export async function findSession(
  sessions: BrowserSessions,
  { id, user, conversation }: SessionName,
): Promise<Session> {
  if (id !== undefined) {
    const session = await sessions.get(id, user === undefined ? {} : { userId: user });
    if (conversation === undefined || session.conversation_id === conversation) return session;
    throw new OmicronError('session_not_found', `Session ${id} is not the one of conversation "${conversation}".`);
  }
  if (user === undefined || conversation === undefined)
    throw new UsageError('name the session by its id, or with --user and --conversation.');
  const { sessions: found } = await sessions.list({ userId: user, conversationId: conversation, archived: true });
  const [session] = found;
  if (session) return session;
  throw new OmicronError('session_not_found', `User "${user}" has no session for conversation "${conversation}".`);
}
