import type { Logger } from 'pino';
import type { UserErasure } from '../../contract/user-erasure.ts';
import { type Clock, neverAborts } from '../../time/clock.ts';
import type { ArtifactStore } from '../ports/artifacts.ts';
import type { SecretStore } from '../ports/secrets.ts';
import type { ProfileKeeper } from '../profiles/profile-keeper.ts';
import type { Erasures } from '../store/erasures.ts';
import type { Maintenance } from '../store/maintenance.ts';

export interface ErasureParts {
  erasures: Erasures;
  maintenance: Pick<Maintenance, 'markExpired'>;
  artifacts: ArtifactStore;
  secrets: SecretStore;
  /** Null: this deployment keeps no profiles. */
  profileKeeper: ProfileKeeper | null;
  /** Leases have ended: their runners are drained. */
  kickDrain: (sessionId?: string) => void;
  clock: Clock;
  log: Logger;
}

const BATCH = 100;
const POLL_MS = 200;

/**
 * Removes everything of a user, for at most `withinMs`: runners that end, and stores that cannot be reached, may take longer. The intent is
 * in the database, so that `eraseUsers` goes on after a crash.
 */
export async function eraseUser(parts: ErasureParts, userId: string, withinMs: number): Promise<UserErasure> {
  const { erasures, kickDrain, clock } = parts;
  const giveUpMs = clock.nowMs() + withinMs;
  const begun = await erasures.begin(userId);
  kickDrain();
  await eraseCredentials(parts, userId);
  for (;;) {
    await eraseArtifacts(parts, userId);
    const left = await erasures.eraseRows(userId);
    if (left === 0) break;
    if (clock.nowMs() >= giveUpMs) return { user_id: userId, done: false, removed: await erasures.removed(userId) };
    await clock.sleep(POLL_MS, neverAborts());
  }
  await parts.profileKeeper?.sweep(); // the objects' key is gone already
  const removed = await erasures.removed(userId);
  await erasures.finish(userId, begun);
  parts.log.info({ removed }, 'user erased');
  return { user_id: userId, done: true, removed };
}

/** One round of a loop: goes on with users of whom something was left. */
export async function eraseUsers(parts: ErasureParts): Promise<void> {
  for (const userId of await parts.erasures.pending(BATCH))
    await eraseUser(parts, userId, 0).catch(err => parts.log.warn({ err }, 'user not erased; retrying'));
}

async function eraseCredentials({ secrets, erasures }: ErasureParts, userId: string): Promise<void> {
  const { credentials = {}, unusable = {} } = (await secrets.read(userId)) ?? {};
  const removed = await Promise.all(
    Object.keys({ ...credentials, ...unusable }).map(site => secrets.remove(userId, site)),
  );
  if (removed.length > 0) await erasures.countErased(userId, { credentials: removed.filter(Boolean).length });
}

async function eraseArtifacts({ erasures, artifacts, maintenance, log }: ErasureParts, userId: string): Promise<void> {
  for (const { id, uri } of await erasures.artifacts(userId, BATCH)) {
    try {
      await artifacts.erase(uri);
      await maintenance.markExpired(id, 'retention');
    } catch (err) {
      log.warn({ err, artifact_id: id }, 'artifact of an erased user not removed; retrying');
    }
  }
}
