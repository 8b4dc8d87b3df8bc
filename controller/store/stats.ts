import type { RunnerState } from '../../contract/states.ts';
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

type Counted = Pick<Stats, 'active' | 'starting' | 'hibernated' | 'waiting' | 'capacity'> &
  Record<Exclude<RunnerState, 'gone'>, number>;

/**
 * A runner that is not gone holds a permit; a claimed one has a session that starts, and a ready session has a leased one. So leases are counted
 * without a look at their rows, of which each report writes a version.
 */
const COUNTS = `
  with permits as (
    select count(*)::int as capacity, count(runner_id)::int as held from omicron.permits
  ), unleased as (
    select count(*) filter (where state = 'creating')::int as creating, count(*) filter (where state = 'draining')::int as draining,
           (select count(*)::int from omicron.runners where state = 'warm') as warm
      from omicron.runners where state in ('creating', 'draining')
  ), starts as (
    select count(*) filter (where s.expires_at > clock_timestamp())::int as starting, count(*) filter (where r.state = 'claimed')::int as claimed,
           count(*) filter (where r.state = 'leased')::int as redeemed
      from omicron.browser_sessions s left join omicron.runners r on r.id = s.runner_id where s.status = 'starting'
  ), leases as (
    select held - creating - draining - warm - claimed as leased from permits, unleased, starts
  )
  select leased - redeemed - (select count(*)::int from omicron.browser_sessions where status = 'ready' and due_at <= (select clock_timestamp())
                                 and expires_at <= (select clock_timestamp())) as active,
         starting, capacity, creating, warm, claimed, leased, draining,
         (select count(*)::int from omicron.browser_sessions where status = 'hibernated' and expires_at > (select clock_timestamp())) as hibernated,
         (select count(*)::int from omicron.waiting_callers where waits_until > clock_timestamp()) as waiting
    from permits, unleased, starts, leases`;

/** Reads the figures of the deployment that the metrics show. */
export async function readStats(database: Database): Promise<Stats> {
  const [counted] = await database.query<Counted>(COUNTS);
  const tallies = await database.query<{ metric: string; label: string; total: number | string }>(
    `select metric, label, sum(total)::bigint as total
       from (select metric, label, total from omicron.tallies union all select metric, label, total from omicron.tally_shards) counted
      group by metric, label`,
  );
  const totals = (metric: string) =>
    Object.fromEntries(tallies.filter(row => row.metric === metric).map(row => [row.label, Number(row.total)]));
  const { active = 0, starting = 0, hibernated = 0, waiting = 0, capacity = 0, ...runners } = counted ?? {};
  return {
    active,
    starting,
    hibernated,
    waiting,
    capacity,
    runners: { creating: 0, warm: 0, claimed: 0, leased: 0, draining: 0, ...runners },
    ended: totals('sessions_ended'),
    recordings: totals('recordings'),
    freezes: totals('freezes'),
    hibernations: totals('hibernations'),
  };
}
