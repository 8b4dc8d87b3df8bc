import type { Command } from 'commander';
import type { BrowserSessions } from '../client/browser-sessions.ts';
import { OmicronError } from '../contract/problem.ts';
import type { Session } from '../contract/session.ts';
import { UsageError } from './exit.ts';

/** How a command names its session: by id, or by user and conversation (S1). */
export interface SessionName {
  id?: string | undefined;
  user?: string | undefined;
  conversation?: string | undefined;
}

/** Adds `[id] --user --conversation` to a command. */
export const withSessionName = (command: Command): Command =>
  command
    .argument('[id]', 'session id')
    .option('--user <id>', 'user id')
    .option('--conversation <id>', 'conversation id');

/** Throws UsageError when the command line names no session. */
export function sessionName(id: string | undefined, { user, conversation }: SessionName): SessionName {
  if (id === undefined && (user === undefined || conversation === undefined))
    throw new UsageError('name the session by its id, or with --user and --conversation.');
  return { id, user, conversation };
}

/** Throws `session_not_found` when there is none, or when id, user and conversation do not belong together. */
export async function findSession(sessions: BrowserSessions, name: SessionName): Promise<Session> {
  const { id, user, conversation } = name;
  if (id !== undefined) {
    const session = await sessions.get(id, { userId: user });
    if (conversation === undefined || session.conversation_id === conversation) return session;
    throw new OmicronError('session_not_found', `Session ${id} does not belong to conversation "${conversation}".`);
  }
  const page = await sessions.list({ userId: user, conversationId: conversation, archived: true });
  const [session] = page.sessions;
  if (session) return session;
  throw new OmicronError('session_not_found', `User "${user}" has no session for conversation "${conversation}".`);
}
