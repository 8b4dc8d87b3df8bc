import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { END_REASONS } from '../contract/session.ts';
import type { PrefixSurvey } from './ports/artifacts.ts';
import type { Directory } from './store/directory.ts';
import { PRUNED_TABLES } from './store/pruning.ts';

export interface Metrics {
  /** Seconds from a get-or-create's arrival to its answer, by outcome: a status code or a problem code. */
  acquired(seconds: number, outcome: string): void;
  /** A runner start failed. */
  runnerFailed(): void;
  reaped(leases: number): void;
  /** Contents of the artifact store below one prefix, and the days that they are to be kept. */
  surveyed(held: PrefixSurvey, retentionDays: number): void;
  surveyFailed(): void;
  /** A caller waited for a place: it got one, was refused when its time was over, or hung up. */
  waited(seconds: number, outcome: 'place' | 'refused' | 'left'): void;
  /** Rows of a table that were removed past their retention. */
  pruned(table: string, rows: number): void;
  /** Prometheus text. Counts are read from the database at each scrape. */
  text(): Promise<string>;
  readonly contentType: string;
}

const RECORDED = ['stored', 'lost'] as const;
/** Kinds of events, without `session.`. */
const HIBERNATIONS = ['hibernated', 'restored', 'hibernate_failed', 'restore_failed'] as const;

// From a warm claim (milliseconds) to the stuck-starting guard (two minutes).
const BUCKETS = [0.005, 0.01, 0.015, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];

/** The metrics of O21 under one prefix, in base units; never a session or a user as a label. */
export function prometheusMetrics(directory: Directory): Metrics & { readonly registry: Registry } {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry, prefix: 'omicron_' });

  const active = new Gauge({ name: 'omicron_active_sessions', help: 'Leases that are ready', registers });
  const starting = new Gauge({
    name: 'omicron_starting_sessions',
    help: 'Leases whose browser is starting',
    registers,
  });
  const hibernated = new Gauge({
    name: 'omicron_hibernated_sessions',
    help: 'Sessions that are kept without a runner',
    registers,
  });
  const runners = new Gauge({ name: 'omicron_runners', help: 'Runners by state', labelNames: ['state'], registers });
  const capacity = new Gauge({ name: 'omicron_capacity', help: 'The global cap of runners', registers });
  const created = new Histogram({
    name: 'omicron_session_create_latency_seconds',
    help: 'From a get-or-create to its answer, renewals included',
    labelNames: ['outcome'],
    buckets: BUCKETS,
    registers,
  });
  const waiting = new Gauge({ name: 'omicron_waiting_callers', help: 'Callers that wait for a place', registers });
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

  const ended = new Counter({
    name: 'omicron_sessions_ended_total',
    help: 'Leases that ended, by reason; the total of the deployment, the same on every replica',
    labelNames: ['reason'],
    registers,
  });
  const recordings = new Counter({
    name: 'omicron_recordings_total',
    help: 'Recordings that were stored or lost; the total of the deployment, the same on every replica',
    labelNames: ['state'],
    registers,
  });

  const store = (name: string, help: string) =>
    new Gauge({ name: `omicron_artifact_store_${name}`, help, labelNames: ['prefix'], registers });
  const stored = {
    objects: store('objects', 'Objects in the artifact store, at the last look'),
    bytes: store('bytes', 'Bytes of the objects in the artifact store, at the last look'),
    oldest: store('oldest_timestamp_seconds', 'When the oldest object was stored; absent where there is none'),
    expiry: store('expiry_days', 'Days after which the store removes objects; 0 where no rule does'),
    retention: store('retention_days', 'Days after which objects are to be removed'),
  };

  const unchecked = new Counter({
    name: 'omicron_artifact_store_check_failures_total',
    help: 'Looks at the artifact store that failed; one is due every hour',
    registers,
  });

  const freezes = new Counter({
    name: 'omicron_browser_freezes_total',
    help: 'Browsers that were frozen when idle, and thawed; the total of the deployment, the same on every replica',
    labelNames: ['change'],
    registers,
  });

  const hibernations = new Counter({
    name: 'omicron_hibernations_total',
    help: 'Sessions that were hibernated and restored, or could not be; the total of the deployment, the same on every replica',
    labelNames: ['change'],
    registers,
  });

  const prunedRows = new Counter({
    name: 'omicron_pruned_rows_total',
    help: 'Rows that this replica removed because they were past their retention',
    labelNames: ['table'],
    registers,
  });
  for (const table of PRUNED_TABLES) prunedRows.inc({ table }, 0);

  const readStats = async () => {
    const now = await directory.stats();
    active.set(now.active);
    starting.set(now.starting);
    hibernated.set(now.hibernated);
    capacity.set(now.capacity);
    waiting.set(now.waiting);
    for (const [state, count] of Object.entries(now.runners)) runners.set({ state }, count);
    // Zeros too: a rate needs the value before the first one. Reset, since the database counts, not this process.
    ended.reset();
    for (const reason of END_REASONS) ended.inc({ reason }, now.ended[reason] ?? 0);
    freezes.reset();
    for (const change of ['frozen', 'thawed']) freezes.inc({ change }, now.freezes[change] ?? 0);
    hibernations.reset();
    for (const change of HIBERNATIONS) hibernations.inc({ change }, now.hibernations[change] ?? 0);
    recordings.reset();
    for (const state of RECORDED) recordings.inc({ state }, now.recordings[state] ?? 0);
  };

  return {
    acquired: (seconds, outcome) => created.observe({ outcome }, seconds),
    runnerFailed: () => failures.inc(),
    reaped: leases => deletes.inc(leases),
    waited: (seconds, outcome) => waits.observe({ outcome }, seconds),
    surveyFailed: () => unchecked.inc(),
    pruned: (table, rows) => prunedRows.inc({ table }, rows),
    surveyed({ prefix, objects, bytes, oldestMs, expiryDays }, retentionDays) {
      const labels = { prefix };
      stored.objects.set(labels, objects);
      stored.bytes.set(labels, bytes);
      if (oldestMs === null) stored.oldest.remove(labels);
      else stored.oldest.set(labels, oldestMs / 1_000);
      stored.expiry.set(labels, expiryDays ?? 0);
      stored.retention.set(labels, retentionDays);
    },
    async text() {
      await readStats();
      return registry.metrics();
    },
    contentType: registry.contentType,
    registry,
  };
}
