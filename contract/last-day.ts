// Queries of Prometheus over the last day, for the cost dashboard and for `omicron-browser cost --last-day`. Every replica reads its gauges
// from the database, so they all report the same value.

/** Hours that a gauge counted over the last day: its mean over a subquery, times 24. */
export const hoursOfDay = (gauge: string): string => `avg_over_time(${gauge}[1d:1m]) * 24`;

export const LAST_DAY = {
  /** Every runner that was there, warm ones included. */
  runnerHours: hoursOfDay('max(sum by (instance) (omicron_runners{state!="gone"}))'),
  /** Leases that were ready. */
  sessionHours: hoursOfDay('max(omicron_active_sessions)'),
  /** Bytes of browsers, by `direction`: in and out. */
  trafficBytes: 'sum by (direction) (increase(omicron_egress_bytes_total[1d]))',
  /** Bytes that are in the artifact store, by prefix. */
  storedBytes: 'max by (prefix) (omicron_artifact_store_bytes)',
} as const;
