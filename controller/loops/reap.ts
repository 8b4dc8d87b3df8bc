import type { Logger } from 'pino';
import type { ArtifactStore } from '../ports/artifacts.ts';
import type { DueArtifact, Maintenance, Retention } from '../store/maintenance.ts';

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
export function retainArtifacts(parts: RetentionParts): Promise<void> {
  const { maintenance, artifacts, retention } = parts;
  return removeEach(
    parts,
    'retention',
    after => maintenance.expiredArtifacts(retention, BATCH, after),
    artifacts.remove,
  );
}

/** Removes files that went with their session, also where the store removes old ones by itself. */
export function removeDueFiles(parts: Omit<RetentionParts, 'retention'>): Promise<void> {
  const { maintenance, artifacts } = parts;
  const erase = async (uri: string) => {
    await artifacts.erase(uri);
    return true;
  };
  return removeEach(parts, 'session_ended', after => maintenance.dueFiles(BATCH, after), erase);
}

async function removeEach(
  { maintenance, log }: Pick<RetentionParts, 'maintenance' | 'log'>,
  reason: Parameters<Maintenance['markExpired']>[1],
  next: (after: DueArtifact | null) => Promise<DueArtifact[]>,
  remove: (uri: string) => Promise<boolean>,
): Promise<void> {
  for (let after: DueArtifact | null = null; ; ) {
    const batch = await next(after);
    for (const { id, uri } of batch)
      try {
        if (!(await remove(uri))) continue;
        await maintenance.markExpired(id, reason);
        log.info({ artifact_id: id, reason }, 'expired artifact removed');
      } catch (err) {
        log.error({ err, artifact_id: id }, 'expired artifact not removed');
      }
    if (batch.length < BATCH) return;
    after = batch.at(-1) ?? null;
  }
}
