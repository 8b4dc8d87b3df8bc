import { Counter, Registry } from '@prometheus-io/client';
import { lostSpansMetric } from '../process/lost-spans.ts';
import type { MetricFamily } from '../process/metric-export.ts';
import { collectNodeMetrics } from '../process/node-metrics.ts';
import { type AcquireMetrics, acquireMetrics } from './acquire-metrics.ts';
import { type ArtifactStoreMetrics, artifactStoreMetrics } from './artifact-store-metrics.ts';
import { type AuditMetrics, auditMetrics } from './audit-metrics.ts';
import { type RunnerMetrics, runnerMetrics } from './runner-metrics.ts';
import { type SqlMetrics, sqlMetrics } from './sql-metrics.ts';
import { statsMetrics } from './stats-metrics.ts';
import type { Directory } from './store/directory.ts';
import { PRUNED_TABLES } from './store/pruning.ts';
import { type WebhookMetrics, webhookMetrics } from './webhook-metrics.ts';

export interface Metrics
  extends AcquireMetrics,
    ArtifactStoreMetrics,
    AuditMetrics,
    RunnerMetrics,
    SqlMetrics,
    WebhookMetrics {
  /** Rows of a table that were removed past their retention. */
  pruned(table: string, rows: number): void;
  /** Prometheus text. Counts are read from the database at each scrape. */
  text(): Promise<string>;
  readonly contentType: string;
  /** The same, as @prometheus-io/client lists it. */
  read(): Promise<MetricFamily[]>;
}

/** The metrics of O21 under one prefix, in base units; never a session or a user as a label. */
export function prometheusMetrics(directory: Pick<Directory, 'stats'>): Metrics & { readonly registry: Registry } {
  const registry = new Registry();
  collectNodeMetrics(registry, 'omicron_');
  lostSpansMetric(registry, 'omicron_');
  const setStats = statsMetrics(registry);
  const prunedRows = new Counter({
    name: 'omicron_pruned_rows_total',
    help: 'Rows that this replica removed because they were past their retention',
    labelNames: ['table'],
    registers: [registry],
  });
  for (const table of PRUNED_TABLES) prunedRows.inc({ table }, 0);

  return {
    ...acquireMetrics(registry),
    ...artifactStoreMetrics(registry),
    ...auditMetrics(registry),
    ...runnerMetrics(registry),
    ...sqlMetrics(registry),
    ...webhookMetrics(registry),
    pruned: (table, rows) => prunedRows.inc({ table }, rows),
    async text() {
      setStats(await directory.stats());
      return registry.metrics();
    },
    contentType: registry.contentType,
    async read() {
      setStats(await directory.stats());
      return registry.getMetricsAsJSON();
    },
    registry,
  };
}
