import type { Logger } from 'pino';
import type { ArtifactStore } from '../ports/artifacts.ts';
import type { Maintenance, Retention } from '../store/maintenance.ts';

const BATCH = 200;

/** Ends leases whose time is over, and starts that are stuck (O18). Answers how many leases it ended. */
export async function reap({ maintenance, log }: { maintenance: Maintenance; log: Logger }): Promise<number> {
  const expired = await untilNotFull(
    most => maintenance.expire(most),
    session_id => log.info({ session_id }, 'lease expired'),
  );
  await untilNotFull(
    most => maintenance.failStuckStarts(most),
    session_id => log.warn({ session_id }, 'session start timed out'),
  );
  return expired;
}

/** Repeats a step until it finds less than a whole batch. Answers how many it found. */
async function untilNotFull(step: (most: number) => Promise<string[]>, each: (id: string) => void): Promise<number> {
  for (let total = 0; ; ) {
    const found = await step(BATCH);
    found.forEach(each);
    total += found.length;
    if (found.length < BATCH) return total;
  }
}

export interface RetentionParts {
  maintenance: Maintenance;
  artifacts: ArtifactStore;
  retention: Retention;
  log: Logger;
}

/**
 * Removes artifacts older than the retention (S4), and writes down those that are gone (O21). One that cannot be removed, or that its
 * store has not removed yet, stops nothing and is looked at again the next time.
 */
export async function retainArtifacts(parts: RetentionParts): Promise<void> {
  for (let after: string | null = null; ; ) {
    const batch: { id: string; uri: string }[] = await parts.maintenance.expiredArtifacts(
      parts.retention,
      BATCH,
      after,
    );
    for (const artifact of batch) await removeArtifact(parts, artifact);
    if (batch.length < BATCH) return;
    after = batch.at(-1)?.id ?? null;
  }
}

async function removeArtifact(parts: RetentionParts, { id, uri }: { id: string; uri: string }): Promise<void> {
  const { maintenance, artifacts, log } = parts;
  try {
    if (!(await artifacts.remove(uri))) return;
    await maintenance.markExpired(id);
    log.info({ artifact_id: id }, 'expired artifact removed');
  } catch (err) {
    log.error({ err, artifact_id: id }, 'expired artifact not removed');
  }
}
