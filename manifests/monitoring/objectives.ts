/** A service level objective: which part of what happened may be bad, and how to count it. */
export interface Objective {
  /** Name of the recorded series: `omicron:<name>:ratio_rate<window>`. */
  readonly name: string;
  readonly alert: string;
  /** What a user sees when it burns. */
  readonly summary: string;
  /** The good part that is promised, over 30 days. */
  readonly objective: number;
  readonly bad: (window: string) => string;
  readonly all: (window: string) => string;
}

/** Answers to get-or-create after which somebody who may have a browser has none. Quotas and bad requests are the caller's. */
export const FAILED_OUTCOMES = [
  'failed',
  'internal_error',
  'runner_start_failed',
  'sandbox_runtime_required',
  'store_unavailable',
  'secrets_unavailable',
  'predecessor_draining',
  'capacity_exceeded',
] as const;

/** A lease from a warm runner takes milliseconds; past this the pool was empty. A bucket of the histogram. */
const SLOW_SECONDS = '1';

const increase = (series: string) => (window: string) => `sum(rate(${series}[${window}]))`;
const LATENCY = 'omicron_session_create_latency_seconds';

export const OBJECTIVES: readonly Objective[] = [
  {
    name: 'session_create_errors',
    alert: 'BrowserSessionCreateErrors',
    summary: 'Chats ask for a browser and get none',
    objective: 0.995,
    bad: increase(`${LATENCY}_count{outcome=~"${FAILED_OUTCOMES.join('|')}"}`),
    all: increase(`${LATENCY}_count`),
  },
  {
    name: 'session_create_slow',
    alert: 'BrowserSessionCreateSlow',
    summary: `Chats wait more than ${SLOW_SECONDS} s for a browser`,
    objective: 0.95,
    bad: window =>
      `(${increase(`${LATENCY}_count{outcome=~"ready|starting"}`)(window)} - ` +
      `${increase(`${LATENCY}_bucket{outcome=~"ready|starting",le="${SLOW_SECONDS}"}`)(window)})`,
    all: increase(`${LATENCY}_count{outcome=~"ready|starting"}`),
  },
  {
    name: 'sessions_lost',
    alert: 'BrowserSessionsLost',
    summary: 'Browsers die under the chats that use them',
    objective: 0.99,
    bad: increase('omicron_sessions_ended_total{reason="runner_lost"}'),
    all: increase('omicron_sessions_ended_total'),
  },
  {
    name: 'recordings_lost',
    alert: 'BrowserRecordingsLost',
    summary: 'Recordings do not reach the bucket',
    objective: 0.999,
    bad: increase('omicron_recordings_total{state="lost"}'),
    all: increase('omicron_recordings_total'),
  },
];

/**
 * How fast a month's budget burns, seen over a long and a short window: the long one says that it matters, the short one that
 * it still goes on. https://sre.google/workbook/alerting-on-slos/
 */
export const BURNS = [
  { factor: 14.4, long: '1h', short: '5m', severity: 'page' },
  { factor: 6, long: '6h', short: '30m', severity: 'page' },
  { factor: 3, long: '1d', short: '2h', severity: 'ticket' },
  { factor: 1, long: '3d', short: '6h', severity: 'ticket' },
] as const;

export const ratio = (objective: Objective, window: string): string => `omicron:${objective.name}:ratio_rate${window}`;
