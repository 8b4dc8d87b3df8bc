import type { Logger } from 'pino';
import type { RunnerProvider } from '../ports/runners.ts';
import type { Fleet } from '../store/fleet.ts';

/** The check of its row finds the reason, and logs it. */
const UNKNOWN = 'unknown';

interface LivenessParts {
  fleet: Fleet;
  provider: RunnerProvider;
  log: Logger;
}

/**
 * Records which runners have died, of all or of `runnerIds`; their leases become errors and the next request starts a new epoch.
 * Answers how many leases it ended because their time was over.
 */
export async function markLostRunners(
  { fleet, provider, log }: LivenessParts,
  runnerIds?: readonly string[],
): Promise<number> {
  let expired = 0;
  const looked = runnerIds ?? (await deadAmong(await fleet.held(), provider));
  if (looked.length === 0) return expired;
  for (const row of await fleet.living(provider.name, looked)) {
    if (row.state === 'creating' || row.state === 'draining') continue; // the launch and drain loops watch those
    const runner = { runner_id: row.id, session_id: row.session_id, state: row.state };
    try {
      const death = await provider.deathOf(row.id);
      if (death === null) continue;
      const outcome = await fleet.markLost(row.id, death.ended ? 'ended' : 'leaving', 'runner_lost', death.reason);
      if (outcome === 'leaving') continue; // it may hibernate its session yet
      if (outcome === 'expired') expired += 1;
      log[outcome === 'expired' ? 'info' : 'warn']({ ...runner, ...death, lease: outcome }, 'runner ended');
    } catch (err) {
      log.error({ ...runner, err }, 'runner check failed');
    }
  }
  return expired;
}

/** Those that seem to be dead. A runner may have been created since: after its row was read it is asked for again. */
async function deadAmong(runnerIds: readonly string[], provider: RunnerProvider): Promise<string[]> {
  const dead: string[] = [];
  for (const id of runnerIds) if ((await provider.deathOf(id).catch(() => UNKNOWN)) !== null) dead.push(id);
  return dead;
}

/**
 * Removes runners that have no row. Lists what exists before it reads the rows: in the other order, a runner that was
 * created in between would look like an orphan.
 */
export async function removeOrphans({ fleet, provider, log }: LivenessParts): Promise<void> {
  const existing = await provider.list();
  const known = new Set(await fleet.held());
  for (const id of existing.filter(id => !known.has(id))) {
    try {
      const state = await provider.remove(id);
      log.warn({ runner_id: id, state }, 'orphaned runner removed');
    } catch (err) {
      log.error({ err, runner_id: id }, 'orphaned runner not removed');
    }
  }
}
