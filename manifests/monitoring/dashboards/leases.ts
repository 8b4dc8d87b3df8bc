import { type Dashboard, RATE } from '../dashboard.ts';
import { OBJECTIVES, ratioSeries } from '../objectives.ts';

const LATENCY = 'omicron_session_create_latency_seconds';
const GRANTED = 'outcome=~"ready|starting"';
const quantile = (q: number): string =>
  `histogram_quantile(${q}, sum by (le) (rate(${LATENCY}_bucket{${GRANTED}}[${RATE}])))`;

export const LEASES: Dashboard = {
  uid: 'omicron-leases',
  title: 'Omicron Browser / Leases and latency',
  description: 'How fast callers get a browser, how leases end, and how fast the error budgets burn',
  rows: [
    {
      title: 'Getting a browser',
      panels: [
        {
          title: 'Time to an answer',
          description: 'Get-or-create that granted a lease, renewals included; a warm runner takes milliseconds',
          kind: 'timeseries',
          unit: 's',
          queries: [
            { expr: quantile(0.5), legend: 'p50' },
            { expr: quantile(0.95), legend: 'p95' },
            { expr: quantile(0.99), legend: 'p99' },
          ],
        },
        {
          title: 'Mean time by outcome',
          description: 'A refusal that takes long waited for a place',
          kind: 'timeseries',
          unit: 's',
          queries: [
            {
              expr: `sum by (outcome) (rate(${LATENCY}_sum[${RATE}])) / sum by (outcome) (rate(${LATENCY}_count[${RATE}]))`,
              legend: '{{outcome}}',
            },
          ],
        },
        {
          title: 'Requests by outcome',
          description:
            'Get-or-create a second: `ready` and `starting` are leases, `failed` is for BrowserSessionCreateErrors',
          kind: 'timeseries',
          unit: 'reqps',
          queries: [{ expr: `sum by (outcome) (rate(${LATENCY}_count[${RATE}]))`, legend: '{{outcome}}' }],
        },
        {
          title: 'Refusals by code',
          description: 'A second; quotas and profiles in use are the affair of callers, the others of the operator',
          kind: 'timeseries',
          unit: 'reqps',
          queries: [
            {
              expr: `sum by (code) (rate(omicron_session_create_refusals_total[${RATE}]))`,
              legend: '{{code}}',
            },
          ],
        },
        {
          title: 'Time to a ready lease',
          description: 'The 95th percentile from the claim, without the line; a cold start waits for its runner',
          kind: 'timeseries',
          unit: 's',
          queries: [
            {
              expr: `histogram_quantile(0.95, sum by (le, start) (rate(omicron_lease_start_seconds_bucket[${RATE}])))`,
              legend: '{{start}}',
            },
            {
              expr: `sum(rate(omicron_lease_start_seconds_sum[${RATE}])) / sum(rate(omicron_lease_start_seconds_count[${RATE}]))`,
              legend: 'mean',
            },
          ],
        },
        {
          title: 'Parts of an acquire',
          description:
            'Mean time in each; `claim` and `ready` are the database, `assign` is the runner, `runner` its launch',
          kind: 'timeseries',
          unit: 's',
          queries: [
            {
              expr: `sum by (part) (rate(omicron_acquire_part_seconds_sum[${RATE}])) / sum by (part) (rate(omicron_acquire_part_seconds_count[${RATE}]))`,
              legend: '{{part}}',
            },
          ],
        },
        {
          title: 'Slow parts of an acquire',
          description: 'Share of each part that takes more than a second',
          kind: 'timeseries',
          unit: 'percentunit',
          queries: [
            {
              expr: `1 - sum by (part) (rate(omicron_acquire_part_seconds_bucket{le="1"}[${RATE}])) / sum by (part) (rate(omicron_acquire_part_seconds_count[${RATE}]))`,
              legend: '{{part}}',
            },
          ],
        },
        {
          title: 'First page',
          description: 'From the call that opens it until it is loaded; slow sites show here, a slow proxy too',
          kind: 'timeseries',
          unit: 's',
          queries: [
            {
              expr: `histogram_quantile(0.5, sum by (le) (rate(omicron_first_page_seconds_bucket[${RATE}])))`,
              legend: 'p50',
            },
            {
              expr: `histogram_quantile(0.95, sum by (le) (rate(omicron_first_page_seconds_bucket[${RATE}])))`,
              legend: 'p95',
            },
          ],
        },
        {
          title: 'Callers that wait',
          description: 'Callers in the line where every place is taken',
          kind: 'timeseries',
          unit: 'short',
          queries: [{ expr: 'max(omicron_waiting_callers)', legend: 'waiting' }],
        },
        {
          title: 'Mean wait for a place',
          description: 'Until they got one, were refused when their time was over, or left',
          kind: 'timeseries',
          unit: 's',
          queries: [
            {
              expr: `sum by (outcome) (rate(omicron_wait_seconds_sum[${RATE}])) / sum by (outcome) (rate(omicron_wait_seconds_count[${RATE}]))`,
              legend: '{{outcome}}',
            },
          ],
        },
        {
          title: 'Answered within a second',
          description: 'Share of granted leases; the objective is 95 %',
          kind: 'timeseries',
          unit: 'percentunit',
          queries: [
            {
              expr: `sum(rate(${LATENCY}_bucket{${GRANTED},le="1"}[${RATE}])) / sum(rate(${LATENCY}_count{${GRANTED}}[${RATE}]))`,
              legend: 'within 1 s',
            },
          ],
        },
      ],
    },
    {
      title: 'How leases end',
      panels: [
        {
          title: 'Ended leases by reason',
          description: 'A second; `runner_lost` is a browser that died in use',
          kind: 'timeseries',
          unit: 'ops',
          queries: [{ expr: `max by (reason) (rate(omicron_sessions_ended_total[${RATE}]))`, legend: '{{reason}}' }],
        },
        {
          title: 'Ended by the reaper',
          description: 'Leases a second that ended because they were idle or reached their maximum age',
          kind: 'timeseries',
          unit: 'ops',
          queries: [{ expr: `sum(rate(omicron_reaper_deletes_total[${RATE}]))`, legend: 'reaped' }],
        },
        {
          title: 'Recordings',
          description: 'Stored and lost a second',
          kind: 'timeseries',
          unit: 'ops',
          queries: [{ expr: `max by (state) (rate(omicron_recordings_total[${RATE}]))`, legend: '{{state}}' }],
        },
      ],
    },
    {
      title: 'Error budgets',
      panels: (['1h', '3d'] as const).map(window => ({
        title: `Burn over ${window}`,
        description:
          'At 1 the budget of 30 days lasts exactly 30 days; the alerts fire at 14.4 over 1 h and at 1 over 3 d',
        kind: 'timeseries' as const,
        unit: 'short' as const,
        queries: OBJECTIVES.map(objective => ({
          expr: `${ratioSeries(objective, window)} / ${Number((1 - objective.objective).toFixed(6))}`,
          legend: objective.name,
        })),
      })),
    },
  ],
};
