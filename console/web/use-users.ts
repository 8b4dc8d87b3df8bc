import type { SessionPage } from '../../contract/session.ts';
import { callConsole } from './api.ts';
import { usePolled } from './use-polled.ts';

/** Ids of users who have sessions, for suggestions. */
export function useUsers(): readonly string[] {
  const { value } = usePolled('users', 30_000, async signal => {
    const { sessions } = await callConsole<SessionPage>('GET', '/browser-sessions?limit=200', undefined, signal);
    return [...new Set(sessions.map(each => each.user_id))].sort();
  });
  return value ?? [];
}
