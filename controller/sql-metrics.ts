import { Counter, type Registry } from '@prometheus-io/client';

/**
 * Database functions of requests and loops that run for each lease, call or round. `select` is every plain read; `other` every step that is
 * asked for by a person or once an hour.
 */
export const SQL_STEPS = [
  'acquire',
  'beat_claim',
  'begin_assignment',
  'redeem',
  'make_ready',
  'fail_claim',
  'heartbeat',
  'report_activity',
  'write_events',
  'write_denials',
  'write_artifact',
  'release_lease',
  'end_lease',
  'line_turns',
  'leave_line',
  'yield_leases',
  'take_work',
  'runner_up',
  'runner_lost',
  'runner_gone',
  'plan_pool',
  'pool_demand',
  'expire_leases',
  'expiring_leases',
  'begin_hibernation',
  'hibernate',
  'held_leases',
  'policy_of',
  'events_after',
  'select',
  'other',
] as const;

export interface SqlMetrics {
  /** A statement was answered: `step` is its database function, or null for a plain read. */
  ranSql(step: string | null, seconds: number): void;
}

/** The series of the statements that this replica sends, over all its connections. */
export function sqlMetrics(registry: Registry): SqlMetrics {
  const registers = [registry];
  const labelNames = ['step'];
  // Two counters: a mean shows a slow step, and buckets would be twelve series for each.
  const calls = new Counter({
    name: 'omicron_sql_calls_total',
    help: 'Statements that this replica sent to the database, by step: a database function, `select`, or `other`',
    labelNames,
    registers,
  });
  const seconds = new Counter({
    name: 'omicron_sql_seconds_total',
    help: 'Time until those statements were answered, the wait for a connection included',
    labelNames,
    registers,
  });
  const steps = new Set<string>(SQL_STEPS);
  for (const step of SQL_STEPS) {
    calls.inc({ step }, 0);
    seconds.inc({ step }, 0);
  }
  return {
    ranSql(name, took) {
      const step = name ?? 'select';
      const labels = { step: steps.has(step) ? step : 'other' };
      calls.inc(labels);
      seconds.inc(labels, Math.max(0, took));
    },
  };
}
