import type { Logger } from 'pino';
import type { Fleet } from '../ports/fleet.ts';
import type { RunnerProvider } from '../ports/runners.ts';

/** Writes down which runners have died; their leases become errors and the next request starts a new epoch. */
export async function buryTheDead(parts: { fleet: Fleet; provider: RunnerProvider; log: Logger }): Promise<void> {
  const { fleet, provider, log } = parts;
  for (const row of await fleet.living(provider.name)) {
    if (row.state === 'creating' || row.state === 'draining') continue; // launch and drain look after those
    const death = await provider.deathOf(row.id);
    if (death === null) continue;
    log.warn({ runner_id: row.id, session_id: row.session_id, state: row.state, death }, 'a runner has died');
    await fleet.lost(row.id, 'ended', 'runner_lost', death);
  }
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
    const state = await provider.remove(id);
    log.warn({ runner_id: id, state }, 'an orphan is removed');
  }
}
