/** A service level objective: which share of events may be bad, and how both are counted. */
export interface Objective {
  /** Name of the recorded series: `omicron:<name>:ratio_rate<window>`. */
  readonly name: string;
  readonly alert: string;
  /** The effect on users when the error budget burns. */
  readonly summary: string;
  /** The share of good events promised over 30 days. */
  readonly objective: number;
  readonly bad: (window: string) => string;
  readonly all: (window: string) => string;
}

/**
 * Outcomes of get-or-create that deny a browser to a caller entitled to one. Quotas and bad requests are the
 * caller's.
 */
export const FAILED_OUTCOMES = [
  'failed',
  'internal_error',
  'runner_start_failed',
  'sandbox_runtime_required',
  'browser_crashed',
  'store_unavailable',
  'secrets_unavailable',
  'profile_unavailable',
  'predecessor_draining',
  'capacity_exceeded',
] as const;

/**
 * A lease of a warm runner takes milliseconds; a slower one found the pool empty. Must be a bucket of the histogram.
 */
const SLOW_SECONDS = '1';

const rateOver = (series: string) => (window: string) => `sum(rate(${series}[${window}]))`;
const LATENCY = 'omicron_session_create_latency_seconds';

export const OBJECTIVES: readonly Objective[] = [
  {
    name: 'session_create_errors',
    alert: 'BrowserSessionCreateErrors',
    summary: 'Requests for a browser fail',
    objective: 0.995,
    bad: rateOver(`${LATENCY}_count{outcome=~"${FAILED_OUTCOMES.join('|')}"}`),
    all: rateOver(`${LATENCY}_count`),
  },
  {
    name: 'session_create_slow',
    alert: 'BrowserSessionCreateSlow',
    summary: `Requests for a browser take more than ${SLOW_SECONDS} s`,
    objective: 0.95,
    bad: window =>
      `(${rateOver(`${LATENCY}_count{outcome=~"ready|starting"}`)(window)} - ` +
      `${rateOver(`${LATENCY}_bucket{outcome=~"ready|starting",le="${SLOW_SECONDS}"}`)(window)})`,
    all: rateOver(`${LATENCY}_count{outcome=~"ready|starting"}`),
  },
  {
    name: 'sessions_lost',
    alert: 'BrowserSessionsLost',
    summary: 'Browsers die while their sessions use them',
    objective: 0.99,
    bad: rateOver('omicron_sessions_ended_total{reason="runner_lost"}'),
    all: rateOver('omicron_sessions_ended_total'),
  },
  {
    name: 'recordings_lost',
    alert: 'BrowserRecordingsLost',
    summary: 'Recordings do not reach the bucket',
    objective: 0.999,
    bad: rateOver('omicron_recordings_total{state="lost"}'),
    all: rateOver('omicron_recordings_total'),
  },
];

/**
 * How fast a month's error budget burns, over a long and a short window: the long one shows that it matters, the
 * short one that it is still happening. https://sre.google/workbook/alerting-on-slos/
 */
export const BURNS = [
  { factor: 14.4, long: '1h', short: '5m', severity: 'page' },
  { factor: 6, long: '6h', short: '30m', severity: 'page' },
  { factor: 3, long: '1d', short: '2h', severity: 'ticket' },
  { factor: 1, long: '3d', short: '6h', severity: 'ticket' },
] as const;

export const ratioSeries = (objective: Objective, window: string): string =>
  `omicron:${objective.name}:ratio_rate${window}`;
