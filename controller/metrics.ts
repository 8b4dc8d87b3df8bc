import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from '@prometheus-io/client';
import type { MetricFamily } from '../process/metric-export.ts';
import { type ArtifactStoreMetrics, artifactStoreMetrics } from './artifact-store-metrics.ts';
import { type AuditMetrics, auditMetrics } from './audit-metrics.ts';
import { statsMetrics } from './stats-metrics.ts';
import type { Directory } from './store/directory.ts';
import { PRUNED_TABLES } from './store/pruning.ts';
import { type WebhookMetrics, webhookMetrics } from './webhook-metrics.ts';

export interface Metrics extends ArtifactStoreMetrics, AuditMetrics, WebhookMetrics {
  /** Seconds from a get-or-create's arrival to its answer, by outcome: a status code or a problem code. */
  acquired(seconds: number, outcome: string): void;
  /** A runner start failed. */
  runnerFailed(): void;
  reaped(leases: number): void;
  /** The pool holds this many warm runners. */
  poolTarget(warm: number): void;
  /** A caller waited for a place: it got one, was refused when its time was over, or hung up. */
  waited(seconds: number, outcome: 'place' | 'refused' | 'left'): void;
  /** Rows of a table that were removed past their retention. */
  pruned(table: string, rows: number): void;
  /** Prometheus text. Counts are read from the database at each scrape. */
  text(): Promise<string>;
  readonly contentType: string;
  /** The same, as @prometheus-io/client lists it. */
  read(): Promise<MetricFamily[]>;
}

// From a warm claim (milliseconds) to the stuck-starting guard (two minutes).
const BUCKETS = [0.005, 0.01, 0.015, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];

/** The metrics of O21 under one prefix, in base units; never a session or a user as a label. */
export function prometheusMetrics(directory: Directory): Metrics & { readonly registry: Registry } {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry, prefix: 'omicron_' });
  const setStats = statsMetrics(registry);

  const created = new Histogram({
    name: 'omicron_session_create_latency_seconds',
    help: 'From a get-or-create to its answer, renewals included',
    labelNames: ['outcome'],
    buckets: BUCKETS,
    registers,
  });
  const waits = new Histogram({
    name: 'omicron_wait_seconds',
    help: 'For how long callers waited where every place was taken: until they got one, were refused, or left',
    labelNames: ['outcome'],
    buckets: [0.1, 0.5, 1, 2.5, 5, 10, 20, 30, 60],
    registers,
  });
  const failures = new Counter({
    name: 'omicron_pod_create_failures_total',
    help: 'Runners that did not start',
    registers,
  });
  const deletes = new Counter({
    name: 'omicron_reaper_deletes_total',
    help: 'Leases that the reaper ended',
    registers,
  });

  const target = new Gauge({
    name: 'omicron_pool_target',
    help: 'Warm runners that the pool holds, those on their way included',
    registers,
  });

  const prunedRows = new Counter({
    name: 'omicron_pruned_rows_total',
    help: 'Rows that this replica removed because they were past their retention',
    labelNames: ['table'],
    registers,
  });
  for (const table of PRUNED_TABLES) prunedRows.inc({ table }, 0);

  return {
    ...artifactStoreMetrics(registry),
    ...auditMetrics(registry),
    ...webhookMetrics(registry),
    acquired: (seconds, outcome) => created.observe({ outcome }, seconds),
    runnerFailed: () => failures.inc(),
    reaped: leases => deletes.inc(leases),
    poolTarget: warm => target.set(warm),
    waited: (seconds, outcome) => waits.observe({ outcome }, seconds),
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
