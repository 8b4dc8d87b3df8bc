import { OmicronError } from '../../contract/problem.ts';
import type { Directory } from '../store/directory.ts';
import type { SessionRow } from '../store/rows.ts';

/** The runner that serves a session now. */
export interface LiveRunner {
  readonly session: SessionRow;
  readonly runnerId: string;
  readonly bootId: string;
  readonly endpoint: string;
}

/**
 * Throws `session_not_found` (another user's too) or `lease_ended` where no browser runs. `userId` null: every user's.
 */
export async function liveRunner(
  directory: Pick<Directory, 'session' | 'runner'>,
  sessionId: string,
  userId: string | null,
): Promise<LiveRunner> {
  const session = await directory.session(sessionId, userId);
  if (session === null)
    throw new OmicronError('session_not_found', 'No session has this id; list sessions to find the right one.');
  const { status, runner_id } = session;
  const runner = status === 'ready' && runner_id !== null ? await directory.runner(runner_id) : null;
  if (runner === null || runner.boot_id === null || runner.endpoint === null)
    throw new OmicronError('lease_ended', `The session has no running browser (${status}); request its lease first.`, {
      session_id: session.id,
    });
  return { session, runnerId: runner.id, bootId: runner.boot_id, endpoint: runner.endpoint };
}
