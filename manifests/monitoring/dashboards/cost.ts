import { LAST_DAY } from '../../../contract/last-day.ts';
import { type Dashboard, RATE } from '../dashboard.ts';
import { PRICES } from '../prices.ts';
import { countRunners, maxOf, prefixSeries } from '../series.ts';

const RUNNERS = countRunners('!="gone"');
const LEASED = countRunners('="leased"');
const GB = 1e9;

export const COST: Dashboard = {
  uid: 'omicron-cost',
  title: 'Omicron Browser / Cost',
  description: 'Runner-hours, traffic and storage, at the prices above; the bill has nodes, which this does not see',
  numbers: [
    { name: 'usd_runner_hour', label: 'USD per runner-hour', value: PRICES.usdPerRunnerHour },
    { name: 'usd_gb_out', label: 'USD per GB of traffic', value: PRICES.usdPerGbOut },
    { name: 'usd_gb_month', label: 'USD per GB-month stored', value: PRICES.usdPerGbMonthStored },
  ],
  rows: [
    {
      title: 'The last day',
      panels: [
        {
          title: 'Runner-hours',
          description: 'Every runner that was there, warm ones included',
          kind: 'stat',
          unit: 'h',
          queries: [{ expr: LAST_DAY.runnerHours, legend: 'runner-hours' }],
        },
        {
          title: 'Session-hours',
          description: 'Leases that were ready',
          kind: 'stat',
          unit: 'h',
          queries: [{ expr: LAST_DAY.sessionHours, legend: 'session-hours' }],
        },
        {
          title: 'Runners',
          description: 'Runner-hours times their price',
          kind: 'stat',
          unit: 'currencyUSD',
          queries: [{ expr: `${LAST_DAY.runnerHours} * $usd_runner_hour`, legend: 'runners' }],
        },
        {
          title: 'A session-hour',
          description: 'Price of all runners for each hour that a lease was ready: warm and draining runners raise it',
          kind: 'stat',
          unit: 'currencyUSD',
          queries: [
            {
              expr: `${LAST_DAY.runnerHours} * $usd_runner_hour / (${LAST_DAY.sessionHours} > 0)`,
              legend: 'session-hour',
            },
          ],
        },
        {
          title: 'Traffic',
          description: 'Bytes of browsers in both directions, at the price of a GB; clouds charge the way out alone',
          kind: 'stat',
          unit: 'currencyUSD',
          queries: [
            {
              expr: `${LAST_DAY.trafficBytes} / ${GB} * $usd_gb_out`,
              legend: '{{direction}}',
            },
          ],
        },
        {
          title: 'Storage',
          description: 'A month of the objects that are there now',
          kind: 'stat',
          unit: 'currencyUSD',
          queries: [{ expr: `${LAST_DAY.storedBytes} / ${GB} * $usd_gb_month`, legend: '{{prefix}}' }],
        },
      ],
    },
    {
      title: 'Over time',
      panels: [
        {
          title: 'Fill',
          description: 'Share of runners that are leased: the others cost money and serve no user',
          kind: 'timeseries',
          unit: 'percentunit',
          queries: [{ expr: `${LEASED} / (${RUNNERS} > 0)`, legend: 'leased' }],
        },
        {
          title: 'Runners, in USD an hour',
          description: 'Runners of each state, times their price',
          kind: 'timeseries',
          unit: 'currencyUSD',
          queries: [
            { expr: 'max by (state) (omicron_runners{state!="gone"}) * $usd_runner_hour', legend: '{{state}}' },
          ],
        },
        {
          title: 'Sessions that cost no runner',
          description: 'Hibernated sessions',
          kind: 'timeseries',
          unit: 'short',
          queries: [{ expr: maxOf('omicron_hibernated_sessions'), legend: 'hibernated' }],
        },
        {
          title: 'Traffic',
          description: 'Bytes a second, counted when a connection closes',
          kind: 'timeseries',
          unit: 'Bps',
          queries: [
            { expr: `sum by (direction) (rate(omicron_egress_bytes_total[${RATE}]))`, legend: '{{direction}}' },
          ],
        },
        {
          title: 'Stored bytes',
          description: 'In the artifact store, at the last hourly look',
          kind: 'timeseries',
          unit: 'bytes',
          queries: [{ expr: prefixSeries('bytes'), legend: '{{prefix}}' }],
        },
        {
          title: 'Stored objects',
          description: 'In the artifact store, at the last hourly look',
          kind: 'timeseries',
          unit: 'short',
          queries: [{ expr: prefixSeries('objects'), legend: '{{prefix}}' }],
        },
        {
          title: 'Age of the oldest object',
          description: 'Beside the age at which objects are to go',
          kind: 'timeseries',
          unit: 's',
          queries: [
            { expr: `time() - ${prefixSeries('oldest_timestamp_seconds', 'min')}`, legend: '{{prefix}} oldest' },
            { expr: prefixSeries('retention_seconds'), legend: '{{prefix}} to be kept' },
          ],
        },
      ],
    },
  ],
};
