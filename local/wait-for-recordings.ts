import type { BrowserSessions } from '../client/browser-sessions.ts';
import { OmicronError } from '../contract/problem.ts';
import type { Artifact } from '../contract/session.ts';
import { realClock } from '../time/clock.ts';

const POLL_MS = 100;

/** The recordings of a lease that has ended, once they are stored or lost. Throws `artifact_not_found` past `withinSeconds`. */
export async function waitForRecordings(
  sessions: BrowserSessions,
  { sessionId, epoch, withinSeconds }: { sessionId: string; epoch: number; withinSeconds: number },
): Promise<Artifact[]> {
  const deadline = AbortSignal.timeout(withinSeconds * 1000);
  while (!deadline.aborted) {
    const found = (await sessions.listArtifacts(sessionId)).filter(
      artifact => artifact.kind === 'video' && artifact.epoch === epoch,
    );
    if (found.length > 0) return found;
    await realClock.sleep(POLL_MS, deadline).catch(() => {}); // the deadline
  }
  throw new OmicronError(
    'artifact_not_found',
    `No recording was stored within ${withinSeconds} s; see the controller's log.`,
    { session_id: sessionId },
  );
}
