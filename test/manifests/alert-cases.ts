/** Series that Prometheus has seen, and the alerts that it must have raised by then. */
export interface AlertCase {
  readonly alert: string;
  readonly when: string;
  readonly interval: string;
  readonly series: Readonly<Record<string, string>>;
  readonly at: string;
  /** Labels that distinguish each raised alert from its siblings; empty when none may be raised. */
  readonly fires: readonly Readonly<Record<string, string>>[];
}

const COUNT = 'omicron_session_create_latency_seconds_count';
const BURNS = {
  fast: [{ window: '1h' }, { window: '6h' }, { window: '1d' }, { window: '3d' }],
  slow: [{ window: '3d' }],
};

/**
 * Two counters over six hours, each raised by its step every two minutes. Windows of days see the same ratio, since they have
 * no other samples.
 */
const sixHours = (good: string, goodStep: number, bad: string, badStep: number) => ({
  interval: '2m',
  series: { [good]: `0+${goodStep}x180`, [bad]: `0+${badStep}x180` },
  at: '6h',
});

/** An objective's alert: nothing wrong, the whole budget's worth over a month, and everything on fire. */
const burns = (alert: string, good: string, bad: string, badOf1000: { slow: number; fast: number }): AlertCase[] => [
  { alert, when: 'nothing goes wrong', ...sixHours(good, 1000, bad, 0), fires: [] },
  {
    alert,
    when: 'a little more goes wrong than the budget allows',
    ...sixHours(good, 1000 - badOf1000.slow, bad, badOf1000.slow),
    fires: BURNS.slow,
  },
  {
    alert,
    when: 'much goes wrong',
    ...sixHours(good, 1000 - badOf1000.fast, bad, badOf1000.fast),
    fires: BURNS.fast,
  },
  {
    alert,
    when: 'many failed three hours ago, and none since: what is over pages no one',
    interval: '2m',
    series: {
      [good]: `0+${1000 - badOf1000.fast}x180`,
      [bad]: `0+${badOf1000.fast}x90 ${badOf1000.fast * 90}x90`,
    },
    at: '6h',
    fires: BURNS.slow,
  },
];

/** An objective's alert about a time: how many of 1,000 are within it. */
const slowness = (
  alert: string,
  histogram: string,
  seconds: string,
  labels: string,
  within: { good: number; slow: number; fast: number },
): AlertCase[] => {
  const all = `${histogram}_count{${labels}}`;
  const bucket = `${histogram}_bucket{${labels}${labels === '' ? '' : ','}le="${seconds}"}`;
  const fires = { good: [], slow: BURNS.slow, fast: BURNS.fast };
  return (['good', 'slow', 'fast'] as const).map(how => ({
    alert,
    when: `${within[how]} of 1,000 are within ${seconds} s`,
    ...sixHours(all, 1000, bucket, within[how]),
    fires: fires[how],
  }));
};
const startBucket = (start: string): string => `omicron_lease_start_seconds_bucket{start="${start}",le="0.25"}`;

/** Ten of 1,000 callers wait for less than ten seconds, and as many as `waited` says for more, by outcome. */
const queues = (when: string, waited: Record<string, number>, fires: AlertCase['fires']): AlertCase[] => [
  {
    alert: 'BrowserQueueSlow',
    when,
    interval: '2m',
    series: {
      [`${COUNT}{outcome="ready"}`]: '0+1000x180',
      ...Object.fromEntries(
        Object.entries(waited).flatMap(([outcome, long]) => [
          [`omicron_wait_seconds_count{outcome="${outcome}"}`, `0+${long + 10}x180`],
          [`omicron_wait_seconds_bucket{outcome="${outcome}",le="10"}`, '0+10x180'],
        ]),
      ),
    },
    at: '6h',
    fires,
  },
];

const minutes = (
  alert: string,
  when: string,
  series: Record<string, string>,
  at: string,
  fires: boolean,
  labels: Record<string, string> = {},
): AlertCase => ({
  alert,
  when,
  interval: '1m',
  series,
  at,
  fires: fires ? [labels] : [],
});

const up = (job: string): string => `up{namespace="omicron-browser-system",job="${job}",instance="a"}`;
const runners = (state: string, instance = 'a'): string => `omicron_runners{state="${state}",instance="${instance}"}`;
const pod = (name: number): string => `kube_pod_info{namespace="omicron-browser",pod="pw-mcp-${name}"}`;
const podSeries = (count: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [pod(index), '1x60']));
const CAPACITY = 'omicron_capacity{instance="a"}';

const FAILURES = 'omicron_artifact_store_check_failures_total{instance="a"}';
const AUDIT_FAILURES = 'omicron_audit_export_failures_total{instance="a"}';
const ATTEMPTS = (outcome: string): string => `omicron_webhook_attempts_total{instance="a",outcome="${outcome}"}`;
const UNDELIVERED = 'omicron_webhook_undelivered_events_total{instance="a"}';
/** A counter that rises by one every hour, each minute. */
const hourly = (hours: number): string => Array.from({ length: hours }, (_, hour) => `${hour}x59`).join(' ');
/** Ten hours of a prefix of the bucket. Time begins at 1970. */
const kept = (prefix: string, expiryDays: number, retentionDays: number, ageDays: number): Record<string, string> => ({
  [`omicron_artifact_store_expiry_seconds{prefix="${prefix}"}`]: `${86_400 * expiryDays}x600`,
  [`omicron_artifact_store_retention_seconds{prefix="${prefix}"}`]: `${86_400 * retentionDays}x600`,
  [`omicron_artifact_store_oldest_timestamp_seconds{prefix="${prefix}"}`]: `${-86_400 * ageDays}x600`,
});
const VIDEOS = 'pw-videos/prod/';
/** The rule for videos expires them after `expiryDays`, and the oldest is `ageDays` old; the rule for kept pages is right. */
const store = (expiryDays: number, ageDays: number): Record<string, string> => ({
  ...kept(VIDEOS, expiryDays, 7, ageDays),
  ...kept('pw-pages/prod/', 3, 3, 2),
});

export const ALERT_CASES: readonly AlertCase[] = [
  ...burns('BrowserSessionCreateErrors', `${COUNT}{outcome="ready"}`, `${COUNT}{outcome="failed"}`, {
    slow: 6,
    fast: 100,
  }),
  {
    alert: 'BrowserSessionCreateErrors',
    when: 'callers are over their quota or ask nonsense',
    ...sixHours(`${COUNT}{outcome="ready"}`, 500, `${COUNT}{outcome="refused"}`, 500),
    fires: [],
  },
  ...slowness('BrowserSessionCreateSlow', 'omicron_session_create_latency_seconds', '1', 'outcome="ready"', {
    ...{ good: 960, slow: 900, fast: 100 },
  }),
  ...slowness('BrowserAcquireSlow', 'omicron_lease_start_seconds', '0.25', 'start="warm"', {
    ...{ good: 992, slow: 980, fast: 800 },
  }),
  {
    alert: 'BrowserAcquireSlow',
    when: 'every lease waits for its runner: that is for BrowserSessionCreateSlow',
    ...sixHours('omicron_lease_start_seconds_count{start="cold"}', 1000, startBucket('cold'), 0),
    fires: [],
  },
  ...slowness('BrowserFirstPageSlow', 'omicron_first_page_seconds', '5', '', {
    ...{ good: 960, slow: 900, fast: 100 },
  }),
  ...queues('no caller waits', {}, []),
  ...queues('one in a hundred and twenty waits for long', { refused: 8 }, []),
  ...queues('one in fifty waits for long, and gets its place', { place: 20 }, BURNS.slow),
  ...queues('a third waits for long, and is refused', { refused: 300 }, BURNS.fast),
  ...burns(
    'BrowserSessionsLost',
    'omicron_sessions_ended_total{reason="released"}',
    'omicron_sessions_ended_total{reason="runner_lost"}',
    { slow: 12, fast: 200 },
  ),
  ...burns(
    'BrowserRecordingsLost',
    'omicron_recordings_total{state="stored"}',
    'omicron_recordings_total{state="lost"}',
    {
      slow: 2,
      fast: 50,
    },
  ),

  minutes('BrowserArtifactsNotExpiring', 'the rule is there and runs', store(7, 6), '10h', false),
  minutes('BrowserArtifactsNotExpiring', 'there is no rule', store(0, 6), '10h', true, { prefix: VIDEOS }),
  minutes('BrowserArtifactsNotExpiring', 'the rule has other days', store(30, 6), '10h', true, { prefix: VIDEOS }),
  minutes('BrowserArtifactsNotExpiring', 'the rule removes nothing', store(7, 11), '10h', true, { prefix: VIDEOS }),
  minutes('BrowserArtifactStoreUnchecked', 'one look fails', { [FAILURES]: '0x60 1x540' }, '10h', false),
  minutes('BrowserArtifactStoreUnchecked', 'every look fails', { [FAILURES]: hourly(10) }, '10h', true),

  minutes('BrowserAuditNotExported', 'one file had to be tried again', { [AUDIT_FAILURES]: '0x30 1x90' }, '2h', false),
  minutes('BrowserAuditNotExported', 'no file is taken', { [AUDIT_FAILURES]: '0+0.2x120' }, '2h', true),
  minutes(
    'BrowserAuditNotExported',
    'entries wait for an interval',
    { omicron_audit_waiting_seconds: '300x60' },
    '1h',
    false,
  ),
  minutes(
    'BrowserAuditNotExported',
    'entries wait for hours',
    { omicron_audit_waiting_seconds: '9000x60' },
    '1h',
    true,
  ),

  minutes(
    'BrowserWebhookEventsUndelivered',
    'endpoints fail now and then, and take the events later',
    { [ATTEMPTS('failed')]: '0+1x120', [ATTEMPTS('delivered')]: '0+0.1x120', [UNDELIVERED]: '0x120' },
    '2h',
    false,
  ),
  minutes(
    'BrowserWebhookEventsUndelivered',
    'no event is sent',
    { [ATTEMPTS('failed')]: '0x120', [ATTEMPTS('delivered')]: '0x120', [UNDELIVERED]: '0x120' },
    '2h',
    false,
  ),
  minutes(
    'BrowserWebhookEventsUndelivered',
    'every attempt of an hour fails',
    { [ATTEMPTS('failed')]: '0+0.2x120', [ATTEMPTS('delivered')]: '7x120', [UNDELIVERED]: '0x120' },
    '2h',
    true,
  ),
  minutes(
    'BrowserWebhookEventsUndelivered',
    'one event is given up among others that are delivered',
    { [ATTEMPTS('failed')]: '0+0.1x120', [ATTEMPTS('delivered')]: '0+9x120', [UNDELIVERED]: '0x90 1x30' },
    '2h',
    true,
  ),

  minutes('BrowserControllerDown', 'one replica answers', { [up('browser-session-controller')]: '1x20' }, '10m', false),
  minutes('BrowserControllerDown', 'none answers', { [up('browser-session-controller')]: '1x5 0x20' }, '10m', true),
  minutes('BrowserControllerDown', 'none is known', { [up('other')]: '1x20' }, '10m', true),
  minutes('BrowserEgressDown', 'one replica answers', { [up('egress-proxy')]: '1x20' }, '10m', false),
  minutes('BrowserEgressDown', 'none answers', { [up('egress-proxy')]: '1x5 0x20' }, '10m', true),

  minutes(
    'BrowserRunnersDoNotStart',
    'one fails now and then',
    { omicron_pod_create_failures_total: '0+0.1x60' },
    '30m',
    false,
  ),
  minutes(
    'BrowserRunnersDoNotStart',
    'one a minute fails',
    { omicron_pod_create_failures_total: '0+1x60' },
    '30m',
    true,
  ),

  minutes(
    'BrowserRunnerPodsRunaway',
    'each pod is a runner of the database, by the word of two replicas',
    {
      ...podSeries(20),
      [runners('leased')]: '12x60',
      [runners('warm')]: '8x60',
      [runners('leased', 'b')]: '12x60',
      [CAPACITY]: '120x60',
    },
    '30m',
    false,
  ),
  minutes(
    'BrowserRunnerPodsRunaway',
    'there are pods that the database does not know',
    { ...podSeries(20), [runners('leased')]: '8x60', [runners('warm')]: '4x60', [CAPACITY]: '120x60' },
    '30m',
    true,
  ),
  minutes(
    'BrowserRunnerPodsRunaway',
    'there are more than may be',
    { ...podSeries(20), [runners('leased')]: '20x60', [CAPACITY]: '10x60' },
    '30m',
    true,
  ),

  minutes(
    'BrowserRunnerPodStuckTerminating',
    'a pod uploads for two minutes',
    { 'kube_pod_deletion_timestamp{namespace="omicron-browser",pod="a"}': '600x2' },
    '13m',
    false,
  ),
  minutes(
    'BrowserRunnerPodStuckTerminating',
    'a pod stays',
    { 'kube_pod_deletion_timestamp{namespace="omicron-browser",pod="a"}': '600x60' },
    '30m',
    true,
  ),

  minutes(
    'BrowserCapacityShort',
    'half is taken',
    { [runners('leased')]: '60x60', [CAPACITY]: '120x60' },
    '30m',
    false,
  ),
  minutes(
    'BrowserCapacityShort',
    'warm ones are not taken',
    { [runners('leased')]: '60x60', [runners('warm')]: '60x60', [CAPACITY]: '120x60' },
    '30m',
    false,
  ),
  minutes(
    'BrowserCapacityShort',
    'nearly all is taken',
    { [runners('leased')]: '100x60', [runners('draining')]: '12x60', [CAPACITY]: '120x60' },
    '30m',
    true,
  ),

  minutes(
    'BrowserWarmPoolEmpty',
    'there are warm ones',
    { [runners('warm')]: '2x60', [runners('leased')]: '5x60', [CAPACITY]: '120x60' },
    '30m',
    false,
  ),
  minutes(
    'BrowserWarmPoolEmpty',
    'all places are taken',
    { [runners('warm')]: '0x60', [runners('leased')]: '120x60', [CAPACITY]: '120x60' },
    '30m',
    false,
  ),
  minutes(
    'BrowserWarmPoolEmpty',
    'there is capacity and no warm runner',
    { [runners('warm')]: '0x60', [runners('leased')]: '5x60', [CAPACITY]: '120x60' },
    '30m',
    true,
  ),

  minutes('BrowserEgressCutOff', 'all is answered', { omicron_egress_policy_failures_total: '0x60' }, '30m', false),
  minutes('BrowserEgressCutOff', 'nothing is', { omicron_egress_policy_failures_total: '0+30x60' }, '30m', true),
  minutes(
    'BrowserEgressDenialsUnreported',
    'all are reported',
    { omicron_egress_events_dropped_total: '0x60' },
    '40m',
    false,
  ),
  minutes(
    'BrowserEgressDenialsUnreported',
    'some were dropped',
    { omicron_egress_events_dropped_total: '0x10 5x50' },
    '30m',
    true,
  ),
];
