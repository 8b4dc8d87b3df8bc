import type { Logger } from 'pino';
import type { ArtifactStore } from '../ports/artifacts.ts';
import type { Maintenance } from '../store/maintenance.ts';

const AT_ONCE = 200;

/** Ends leases whose time is over, and starts that are stuck (O18). Answers how many leases it ended. */
export async function reap(parts: { maintenance: Maintenance; log: Logger }): Promise<number> {
  const { maintenance, log } = parts;
  const expired = await maintenance.expire(AT_ONCE);
  for (const session_id of expired) log.info({ session_id }, 'a lease has expired');
  const stuck = await maintenance.failStuckStarts(AT_ONCE);
  for (const session_id of stuck) log.warn({ session_id }, 'a start was stuck and is an error now');
  return expired.length;
}

/** Removes recordings older than the retention (S4). One that cannot be removed stops nothing and is tried again. */
export async function retainArtifacts(parts: {
  maintenance: Maintenance;
  artifacts: ArtifactStore;
  days: number;
  log: Logger;
}): Promise<void> {
  const { maintenance, artifacts, days, log } = parts;
  for (const { id, uri } of await maintenance.expiredArtifacts(days, AT_ONCE)) {
    try {
      await artifacts.remove(uri);
      await maintenance.markExpired(id);
      log.info({ artifact_id: id, days }, 'a recording is past its retention and was removed');
    } catch (err) {
      log.error({ err, artifact_id: id }, 'a recording past its retention could not be removed');
    }
  }
}
