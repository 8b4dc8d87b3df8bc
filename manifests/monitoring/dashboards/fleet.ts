import { type Dashboard, RATE } from '../dashboard.ts';
import { processPanels } from '../process-panels.ts';
import { countPods, countRunners, maxOf, SCRAPED, scrapedUp } from '../series.ts';

export const FLEET: Dashboard = {
  uid: 'omicron-fleet',
  title: 'Omicron Browser / Fleet',
  description: 'Sessions, runners and the controller',
  rows: [
    {
      title: 'Now',
      panels: [
        {
          title: 'Ready sessions',
          description: 'Leases whose browser can be used',
          kind: 'stat',
          unit: 'short',
          queries: [{ expr: maxOf('omicron_active_sessions'), legend: 'ready' }],
        },
        {
          title: 'Capacity in use',
          description: 'Runners other than warm ones, of the cap; BrowserCapacityShort fires above 90 %',
          kind: 'stat',
          unit: 'percentunit',
          queries: [{ expr: `${countRunners('!~"gone|warm"')} / ${maxOf('omicron_capacity')}`, legend: 'in use' }],
        },
        {
          title: 'Warm runners',
          description: 'Runners that wait for a lease; at 0 every new session waits for a start',
          kind: 'stat',
          unit: 'short',
          queries: [{ expr: countRunners('="warm"'), legend: 'warm' }],
        },
        {
          title: 'Replicas up',
          description: 'Programs that Prometheus reaches',
          kind: 'stat',
          unit: 'short',
          queries: [
            { expr: `sum(${scrapedUp(SCRAPED.controller)})`, legend: 'controller' },
            { expr: `sum(${scrapedUp(SCRAPED.egress)})`, legend: 'egress proxy' },
            { expr: `sum(${scrapedUp(SCRAPED.console)})`, legend: 'console' },
          ],
        },
      ],
    },
    {
      title: 'Sessions and runners',
      panels: [
        {
          title: 'Sessions',
          description: 'Leases that start or are ready, and sessions that are kept without a runner',
          kind: 'timeseries',
          unit: 'short',
          queries: [
            { expr: maxOf('omicron_active_sessions'), legend: 'ready' },
            { expr: maxOf('omicron_starting_sessions'), legend: 'starting' },
            { expr: maxOf('omicron_hibernated_sessions'), legend: 'hibernated' },
          ],
        },
        {
          title: 'Runners by state',
          description: 'Rows of the database, and the cap; `draining` that does not fall is a pod that does not go',
          kind: 'timeseries',
          unit: 'short',
          queries: [
            { expr: 'max by (state) (omicron_runners{state!="gone"})', legend: '{{state}}' },
            { expr: maxOf('omicron_pool_target'), legend: 'warm, as the pool aims at' },
            { expr: maxOf('omicron_capacity'), legend: 'capacity' },
          ],
        },
        {
          title: 'Runner pods',
          description:
            'Pods of the namespace beside the runners that the database knows; more pods than rows is a leak',
          kind: 'timeseries',
          unit: 'short',
          queries: [
            { expr: countPods, legend: 'pods' },
            { expr: countRunners('!="gone"'), legend: 'rows' },
          ],
        },
        {
          title: 'Runners that did not start',
          description: 'In each interval; BrowserRunnersDoNotStart fires above 5 in ten minutes',
          kind: 'timeseries',
          unit: 'short',
          queries: [
            {
              expr: `sum by (part, reason) (increase(omicron_pod_create_failures_total[${RATE}]))`,
              legend: '{{part}}: {{reason}}',
            },
          ],
        },
        {
          title: 'Parts of a launch',
          description: 'Mean time in each: `create` is the API server, `warm` the node, the image and the browser',
          kind: 'timeseries',
          unit: 's',
          queries: [
            {
              expr: `sum by (part) (rate(omicron_launch_part_seconds_sum[${RATE}])) / sum by (part) (rate(omicron_launch_part_seconds_count[${RATE}]))`,
              legend: '{{part}}',
            },
            {
              expr: `histogram_quantile(0.95, sum by (le) (rate(omicron_launch_part_seconds_bucket{part="warm"}[${RATE}])))`,
              legend: 'warm, p95',
            },
          ],
        },
        {
          title: 'Writes to the Kubernetes API',
          description: 'A second; failed ones that last are a quota, a policy, or an API server that is busy',
          kind: 'timeseries',
          unit: 'ops',
          queries: [
            {
              expr: `sum by (verb, resource, outcome) (rate(omicron_api_writes_total[${RATE}]))`,
              legend: '{{verb}} {{resource}} {{outcome}}',
            },
          ],
        },
        {
          title: 'Hibernation',
          description: 'Sessions that were hibernated and restored a second, and those that could not be',
          kind: 'timeseries',
          unit: 'ops',
          queries: [{ expr: `max by (change) (rate(omicron_hibernations_total[${RATE}]))`, legend: '{{change}}' }],
        },
        {
          title: 'Time to hibernate',
          description: 'From the order to a runner; above 20 s it is given up, and the session ends with its lease',
          kind: 'timeseries',
          unit: 's',
          queries: [
            {
              expr: `histogram_quantile(0.95, sum by (le) (rate(omicron_hibernate_seconds_bucket[${RATE}])))`,
              legend: 'p95',
            },
          ],
        },
        {
          title: 'Frozen browsers',
          description: 'Browsers that were frozen and thawed a second',
          kind: 'timeseries',
          unit: 'ops',
          queries: [{ expr: `max by (change) (rate(omicron_browser_freezes_total[${RATE}]))`, legend: '{{change}}' }],
        },
        {
          title: 'Events sent to webhooks',
          description: 'Attempts a second; failed ones without delivered ones are an endpoint that is down',
          kind: 'timeseries',
          unit: 'ops',
          queries: [
            { expr: `sum by (outcome) (rate(omicron_webhook_attempts_total[${RATE}]))`, legend: '{{outcome}}' },
          ],
        },
        {
          title: 'Undelivered events of webhooks',
          description: 'Given up in each interval, after a day; BrowserWebhookEventsUndelivered fires for one',
          kind: 'timeseries',
          unit: 'short',
          queries: [
            { expr: `sum(increase(omicron_webhook_undelivered_events_total[${RATE}]))`, legend: 'undelivered' },
          ],
        },
        {
          title: 'Old rows removed',
          description: 'Rows a second that went because they were past their retention, by table',
          kind: 'timeseries',
          unit: 'ops',
          queries: [{ expr: `sum by (table) (rate(omicron_pruned_rows_total[${RATE}]))`, legend: '{{table}}' }],
        },
      ],
    },
    {
      title: 'Database',
      panels: [
        {
          title: 'Time of the database by step',
          description: 'Seconds a second: the sum is how many connections are busy',
          kind: 'timeseries',
          unit: 'short',
          queries: [{ expr: `sum by (step) (rate(omicron_sql_seconds_total[${RATE}]))`, legend: '{{step}}' }],
        },
        {
          title: 'Mean time of a step',
          description:
            'The wait for a connection included; all steps slow is the database, one step is its plan or a lock',
          kind: 'timeseries',
          unit: 's',
          queries: [
            {
              expr: `sum by (step) (rate(omicron_sql_seconds_total[${RATE}])) / (sum by (step) (rate(omicron_sql_calls_total[${RATE}])) > 0)`,
              legend: '{{step}}',
            },
          ],
        },
      ],
    },
    { title: 'Controller', panels: processPanels('omicron_') },
    {
      title: 'Console',
      panels: [
        {
          title: 'Requests of pages',
          description: 'A second, by outcome; failed ones are the controller that is away',
          kind: 'timeseries',
          unit: 'ops',
          queries: [
            {
              expr: `sum by (outcome) (rate(omicron_console_request_seconds_count[${RATE}]))`,
              legend: '{{outcome}}',
            },
          ],
        },
        {
          title: 'Time to answer',
          description: 'The 95th percentile of requests that were answered; lists of videos and files take longest',
          kind: 'timeseries',
          unit: 's',
          queries: [
            {
              expr: `histogram_quantile(0.95, sum by (le) (rate(omicron_console_request_seconds_bucket{outcome="answered"}[${RATE}])))`,
              legend: 'p95',
            },
          ],
        },
        {
          title: 'People',
          description: 'Open sign-ins, and live views that are watched through this console',
          kind: 'timeseries',
          unit: 'short',
          queries: [
            { expr: 'sum(omicron_console_sign_ins)', legend: 'sign-ins' },
            { expr: 'sum(omicron_console_live_views)', legend: 'live views' },
          ],
        },
        ...processPanels('omicron_console_'),
      ],
    },
  ],
};
