import { RUNNER_STATES } from '../../contract/states.ts';
import type { Database } from '../ports/database.ts';

export interface Stats {
  active: number;
  starting: number;
  /** Sessions that are kept without a runner. */
  hibernated: number;
  /** Callers that wait for a place. */
  waiting: number;
  runners: Record<string, number>;
  capacity: number;
  /** Leases that ended, by reason, and recordings, by what became of them: totals since the first day. */
  ended: Record<string, number>;
  recordings: Record<string, number>;
  /** Browsers that were frozen and thawed. */
  freezes: Record<string, number>;
  /** Sessions that were hibernated and restored, or could not be. */
  hibernations: Record<string, number>;
}

/** Reads the figures of the deployment that the metrics show. */
export async function readStats(database: Database): Promise<Stats> {
  const [sessions] = await database.query<{
    active: number;
    starting: number;
    hibernated: number;
    waiting: number;
    capacity: number;
  }>(
    `select count(*) filter (where status = 'ready')::int as active, count(*) filter (where status = 'starting')::int as starting,
            count(*) filter (where status = 'hibernated')::int as hibernated,
            (select count(*)::int from omicron.waiting_callers where waits_until > clock_timestamp()) as waiting,
            (select count(*)::int from omicron.permits) as capacity
       from omicron.browser_sessions where status in ('starting', 'ready', 'hibernated') and expires_at > (select clock_timestamp())`,
  );
  const counted = await database.query<{ state: string; count: number }>(
    `select state, count(*)::int as count from omicron.runners where state <> 'gone' group by state`,
  );
  const tallies = await database.query<{ metric: string; label: string; total: number | string }>(
    `select metric, label, sum(total)::bigint as total
       from (select metric, label, total from omicron.tallies union all select metric, label, total from omicron.tally_shards) counted
      group by metric, label`,
  );
  const totals = (metric: string) =>
    Object.fromEntries(tallies.filter(row => row.metric === metric).map(row => [row.label, Number(row.total)]));
  const runners = Object.fromEntries(RUNNER_STATES.filter(state => state !== 'gone').map(state => [state, 0]));
  for (const { state, count } of counted) runners[state] = count;
  return {
    active: sessions?.active ?? 0,
    starting: sessions?.starting ?? 0,
    hibernated: sessions?.hibernated ?? 0,
    waiting: sessions?.waiting ?? 0,
    capacity: sessions?.capacity ?? 0,
    runners,
    ended: totals('sessions_ended'),
    recordings: totals('recordings'),
    freezes: totals('freezes'),
    hibernations: totals('hibernations'),
  };
}
