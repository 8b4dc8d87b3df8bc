import type { Logger } from 'pino';
import type { RunnerProvider } from '../ports/runners.ts';
import type { Fleet } from '../store/fleet.ts';

/**
 * Writes down which runners have died; their leases become errors and the next request starts a new epoch. Answers how many
 * leases it ended because their time was over.
 */
export async function buryTheDead(parts: { fleet: Fleet; provider: RunnerProvider; log: Logger }): Promise<number> {
  const { fleet, provider, log } = parts;
  let expired = 0;
  for (const row of await fleet.living(provider.name)) {
    if (row.state === 'creating' || row.state === 'draining') continue; // launch and drain look after those
    const about = { runner_id: row.id, session_id: row.session_id, state: row.state };
    try {
      const death = await provider.deathOf(row.id);
      if (death === null) continue;
      const outcome = await fleet.markLost(row.id, death.ended ? 'ended' : 'leaving', 'runner_lost', death.reason);
      if (outcome === 'expired') expired += 1;
      log[outcome === 'expired' ? 'info' : 'warn']({ ...about, ...death, lease: outcome }, 'a runner has ended');
    } catch (err) {
      log.error({ ...about, err }, 'could not see after a runner');
    }
  }
  return expired;
}

/**
 * Removes runners that no row knows. Lists what exists before it reads the rows: the other order takes a runner that was
 * created in between for an orphan.
 */
export async function removeOrphans(parts: { fleet: Fleet; provider: RunnerProvider; log: Logger }): Promise<void> {
  const { fleet, provider, log } = parts;
  const existing = await provider.list();
  const known = new Set((await fleet.living(provider.name)).map(row => row.id));
  for (const id of existing.filter(id => !known.has(id))) {
    try {
      const state = await provider.remove(id);
      log.warn({ runner_id: id, state }, 'an orphan is removed');
    } catch (err) {
      log.error({ err, runner_id: id }, 'an orphan could not be removed');
    }
  }
}
