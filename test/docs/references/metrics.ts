import { prometheusConsoleMetrics } from '../../../console/metrics.ts';
import { prometheusMetrics } from '../../../controller/metrics.ts';
import type { Directory } from '../../../controller/store/directory.ts';
import { egressMetrics } from '../../../egress/metrics.ts';
import { code, page, table } from './table.ts';

/** A metric of @prometheus-io/client, as far as a page shows it. */
interface Metric {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
}

const kindOf = (metric: object): string => metric.constructor.name.toLowerCase();

/** Metrics of Node.js itself, which @prometheus-io/client's documentation describes. */
const isOfNode = (name: string): boolean => /^omicron_((egress|console)_)?(process|nodejs)_/.test(name);

const rows = (metrics: readonly Metric[]): string[][] =>
  metrics
    .filter(({ name }) => !isOfNode(name))
    .map(metric => [code(metric.name), kindOf(metric), metric.labelNames.map(code).join(', '), metric.help]);

/** docs/reference/metrics.md. */
export function metricsPage(): string {
  // Registering metrics reads no directory and no connection.
  const controller = prometheusMetrics({} as Directory).registry;
  const egress = egressMetrics({ leases: () => 0, clients: () => ({ unauthenticated: 0, idle: 0, busy: 0 }) }).registry;
  const web = prometheusConsoleMetrics().registry;
  const heads = ['metric', 'type', 'labels', 'meaning'];
  return page(
    '`controller/metrics.ts`, `egress/metrics.ts` and `console/metrics.ts`',
    'Metrics',
    'Prometheus text at `/metrics`. Units are in the names; no label is a session, a user or a site. Each program exports the metrics of its Node.js process too (`omicron_process_…`, `omicron_nodejs_…`, `omicron_egress_process_…`). Alerts are in `manifests/monitoring/alerts.ts`, each with a [runbook](../runbooks).',
    [
      [
        'Controller',
        'Port 8080. Numbers of sessions and runners, and the totals of the deployment, are read from the database at each scrape: every replica exports the same, so take the maximum. Each replica counts the others for itself: sum them.',
        table(heads, rows(controller.getMetricsAsArray() as unknown as Metric[])),
      ],
      [
        'Egress proxy',
        'Port 9090. Each replica counts its own connections: sum them.',
        table(heads, rows(egress.getMetricsAsArray() as unknown as Metric[])),
      ],
      [
        'Console',
        'Port 9090, which its ingress does not reach. The console of a local stack, in the process of its controller, has none.',
        table(heads, rows(web.getMetricsAsArray() as unknown as Metric[])),
      ],
    ],
  );
}
