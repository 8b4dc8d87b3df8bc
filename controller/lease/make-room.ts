import type { Leases } from '../store/leases.ts';
import type { SessionHibernation } from './hibernation.ts';

export interface RoomParts {
  leases: Pick<Leases, 'released' | 'endReleased'>;
  /** Null: this deployment cannot hibernate sessions. */
  hibernation: Pick<SessionHibernation, 'evict'> | null;
  /** Name of the provider whose leases give way. */
  provider: string;
}

/** Released leases are tried one after the other: one that is held again by now stays. */
const CANDIDATES = 3;

/**
 * Frees a place of the capacity: a lease that its platform has released gives way, the longest released first, after those that give way
 * to the callers before this one. False: every one is held.
 */
export async function makeRoom({ leases, hibernation, provider }: RoomParts, ahead: number): Promise<boolean> {
  const released = await leases.released(provider, ahead + CANDIDATES);
  for (const { id, hibernates } of released.slice(ahead)) {
    if (hibernates && (await hibernation?.evict(id))) return true;
    if (await leases.endReleased(id)) return true;
  }
  return false;
}
