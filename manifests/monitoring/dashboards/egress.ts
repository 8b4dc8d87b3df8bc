import { type Dashboard, RATE } from '../dashboard.ts';
import { processPanels } from '../process-panels.ts';

const quantile = (q: number, series: string): string =>
  `histogram_quantile(${q}, sum by (le) (rate(omicron_egress_${series}_seconds_bucket[${RATE}])))`;
const latency = (series: string) => [
  { expr: quantile(0.5, series), legend: 'p50' },
  { expr: quantile(0.95, series), legend: 'p95' },
];

export const EGRESS_AND_SECURITY: Dashboard = {
  uid: 'omicron-egress',
  title: 'Omicron Browser / Egress and security',
  description: 'The only way out of a browser: its traffic and its refusals',
  rows: [
    {
      title: 'Refusals',
      panels: [
        {
          title: 'Refused requests by code',
          description: 'A second; one session that scans addresses shows as a step',
          kind: 'timeseries',
          unit: 'reqps',
          queries: [{ expr: `sum by (code) (rate(omicron_egress_refusals_total[${RATE}]))`, legend: '{{code}}' }],
        },
        {
          title: 'Refused requests by class of address',
          description: 'A second; pages that ask for private or metadata addresses probe the network',
          kind: 'timeseries',
          unit: 'reqps',
          queries: [
            {
              expr: `sum by (address_class) (rate(omicron_egress_refusals_total[${RATE}]))`,
              legend: '{{address_class}}',
            },
          ],
        },
        {
          title: 'Failed calls to the controller',
          description: 'A second; without answers the proxy refuses leases that it does not know',
          kind: 'timeseries',
          unit: 'ops',
          queries: [{ expr: `sum(rate(omicron_egress_policy_failures_total[${RATE}]))`, legend: 'failed' }],
        },
        {
          title: 'Refusals missing from timelines',
          description: 'In each interval; they are counted here alone',
          kind: 'timeseries',
          unit: 'short',
          queries: [{ expr: `sum(increase(omicron_egress_events_dropped_total[${RATE}]))`, legend: 'dropped' }],
        },
      ],
    },
    {
      title: 'Traffic',
      panels: [
        {
          title: 'Requests by outcome',
          description: 'A second, by method',
          kind: 'timeseries',
          unit: 'reqps',
          queries: [
            {
              expr: `sum by (method, outcome) (rate(omicron_egress_requests_total[${RATE}]))`,
              legend: '{{method}} {{outcome}}',
            },
          ],
        },
        {
          title: 'Bytes',
          description: 'A second, counted when a connection closes',
          kind: 'timeseries',
          unit: 'Bps',
          queries: [
            { expr: `sum by (direction) (rate(omicron_egress_bytes_total[${RATE}]))`, legend: '{{direction}}' },
          ],
        },
        {
          title: 'Connections',
          description: 'Open connections to sites, and of browsers by state',
          kind: 'timeseries',
          unit: 'short',
          queries: [
            { expr: 'sum(omicron_egress_connections)', legend: 'to sites' },
            { expr: 'sum by (state) (omicron_egress_clients)', legend: 'clients: {{state}}' },
          ],
        },
        {
          title: 'Clients closed for another',
          description: 'A second, by reason: a proxy without free places, or heads that came late',
          kind: 'timeseries',
          unit: 'ops',
          queries: [
            { expr: `sum by (reason) (rate(omicron_egress_clients_closed_total[${RATE}]))`, legend: '{{reason}}' },
          ],
        },
        {
          title: 'Leases',
          description: 'Leases that each replica serves',
          kind: 'timeseries',
          unit: 'short',
          queries: [{ expr: 'sum by (instance) (omicron_egress_leases)', legend: '{{instance}}' }],
        },
        {
          title: 'Time to resolve a name',
          description: 'Pages wait for it on each new site',
          kind: 'timeseries',
          unit: 's',
          queries: latency('lookup'),
        },
        {
          title: 'Time to connect to a site',
          description: 'From the resolved address to an open connection',
          kind: 'timeseries',
          unit: 's',
          queries: latency('dial'),
        },
      ],
    },
    { title: 'Proxy', panels: processPanels('omicron_egress_') },
  ],
};
