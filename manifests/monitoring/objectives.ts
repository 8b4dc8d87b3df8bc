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
 * A lease of a warm runner takes milliseconds; a slower one found the pool empty. Must be a bucket of the histogram.
 */
const SLOW_SECONDS = '1';
/** A warm runner is handed out in tens of milliseconds: beyond this the database or the way to runners is slow. */
const WARM_SECONDS = '0.25';
/** A page of a quick site loads in a tenth of this. */
const FIRST_PAGE_SECONDS = '5';
/** A caller notices a line that it stands in for longer. */
const QUEUE_SECONDS = '10';

const rateOver = (series: string) => (window: string) => `sum(rate(${series}[${window}]))`;
/** The events of a histogram above one of its buckets. */
const above =
  (histogram: string, seconds: string, labels = '') =>
  (window: string) =>
    `(${rateOver(`${histogram}_count${labels === '' ? '' : `{${labels}}`}`)(window)} - ` +
    `${rateOver(`${histogram}_bucket{${labels === '' ? '' : `${labels},`}le="${seconds}"}`)(window)})`;
const LATENCY = 'omicron_session_create_latency_seconds';

export const OBJECTIVES: readonly Objective[] = [
  {
    name: 'session_create_errors',
    alert: 'BrowserSessionCreateErrors',
    summary: 'Requests for a browser fail',
    objective: 0.995,
    bad: rateOver(`${LATENCY}_count{outcome="failed"}`),
    all: rateOver(`${LATENCY}_count`),
  },
  {
    name: 'session_create_slow',
    alert: 'BrowserSessionCreateSlow',
    summary: `Requests for a browser take more than ${SLOW_SECONDS} s`,
    objective: 0.95,
    bad: above(LATENCY, SLOW_SECONDS, 'outcome=~"ready|starting"'),
    all: rateOver(`${LATENCY}_count{outcome=~"ready|starting"}`),
  },
  {
    name: 'acquire_slow',
    alert: 'BrowserAcquireSlow',
    summary: `Leases on warm runners take more than ${WARM_SECONDS} s to become ready`,
    objective: 0.99,
    bad: above('omicron_lease_start_seconds', WARM_SECONDS, 'start="warm"'),
    all: rateOver('omicron_lease_start_seconds_count{start="warm"}'),
  },
  {
    name: 'first_page_slow',
    alert: 'BrowserFirstPageSlow',
    summary: `First pages take more than ${FIRST_PAGE_SECONDS} s to load`,
    objective: 0.95,
    bad: above('omicron_first_page_seconds', FIRST_PAGE_SECONDS),
    all: rateOver('omicron_first_page_seconds_count'),
  },
  {
    name: 'queue_slow',
    alert: 'BrowserQueueSlow',
    summary: `Callers stand in the line for more than ${QUEUE_SECONDS} s`,
    objective: 0.99,
    bad: above('omicron_wait_seconds', QUEUE_SECONDS),
    all: rateOver(`${LATENCY}_count`), // a caller that does not wait has waited well
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
