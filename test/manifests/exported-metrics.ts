import { prometheusConsoleMetrics } from '../../console/metrics.ts';
import { END_REASONS } from '../../contract/session.ts';
import { RUNNER_STATES } from '../../contract/states.ts';
import { ACQUIRE_PARTS, LEASE_STARTS } from '../../controller/acquire-metrics.ts';
import { prometheusMetrics } from '../../controller/metrics.ts';
import { LAUNCH_PARTS } from '../../controller/runner-metrics.ts';
import { SQL_STEPS } from '../../controller/sql-metrics.ts';
import { egressMetrics } from '../../egress/metrics.ts';

export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Exported {
  /** By the name in `# TYPE`: a histogram's without `_bucket`. */
  readonly types: ReadonlyMap<string, string>;
  readonly samples: readonly Sample[];
}

const ones = (keys: readonly string[]) => Object.fromEntries(keys.map(key => [key, 1]));

/** The controller's registry, after each of its methods was called. */
export async function controllerText(): Promise<string> {
  const directory = {
    stats: async () => ({
      active: 3,
      starting: 1,
      capacity: 120,
      runners: ones(RUNNER_STATES),
      ended: ones(END_REASONS),
      recordings: ones(['stored', 'lost']),
      freezes: ones(['frozen', 'thawed']),
      hibernated: 2,
      waiting: 1,
      hibernations: ones(['hibernated', 'restored', 'hibernate_failed', 'restore_failed']),
    }),
  };
  // Metrics ask the directory for the stats alone.
  const metrics = prometheusMetrics(directory as unknown as Parameters<typeof prometheusMetrics>[0]);
  metrics.acquired(0.2, 'ready');
  metrics.acquired(2, 'starting');
  metrics.acquired(0.1, 'capacity_exceeded');
  for (const part of ACQUIRE_PARTS) metrics.acquirePart(part, 0.1);
  for (const start of LEASE_STARTS) metrics.leaseStarted(start, 0.1);
  metrics.firstPage(0.5);
  for (const part of LAUNCH_PARTS) metrics.launched(part, 1);
  metrics.runnerFailed('warm', 'timeout');
  metrics.hibernated(0.3);
  metrics.wrote({ verb: 'create', resource: 'pods', ok: true });
  for (const step of SQL_STEPS) metrics.ranSql(step, 0.001);
  metrics.reaped(1);
  metrics.surveyFailed();
  metrics.waited(1, 'place');
  metrics.webhookAttempted('delivered');
  metrics.webhookAttempted('failed');
  metrics.webhookGaveUp(1);
  for (const holds of ['videos', 'pages'] as const)
    metrics.surveyed({ holds, prefix: `pw-${holds}/`, objects: 5, bytes: 1e9, oldestMs: 1_000, expiryDays: 7 }, 7);
  return metrics.text();
}

/** The proxy's registry, after each of its series was counted. */
export async function egressText(): Promise<string> {
  const metrics = egressMetrics({ leases: () => 2, clients: () => ({ unauthenticated: 1, idle: 1, busy: 1 }) });
  metrics.requests.inc({ method: 'CONNECT', outcome: 'tunnel' });
  metrics.refusals.inc({ code: 'address_denied', address_class: 'private' });
  metrics.connections.set(4);
  metrics.clientsClosed.inc({ reason: 'idle' });
  metrics.bytes.inc({ direction: 'in' }, 1e6);
  metrics.lookupSeconds.observe(0.01);
  metrics.dialSeconds.observe(0.01);
  metrics.policyFailures.inc();
  metrics.eventsDropped.inc();
  return metrics.registry.metrics();
}

/** The console's registry, after each of its series was counted. */
export async function consoleText(): Promise<string> {
  const metrics = prometheusConsoleMetrics();
  metrics.answered('answered', 0.1);
  metrics.answered('refused', 0.01);
  metrics.watch({ liveViews: () => 1, signIns: () => 2 });
  return metrics.registry.metrics();
}

/** Every series that the programs export, with its labels. */
export async function exportedMetrics(): Promise<{ controller: Exported; egress: Exported; console: Exported }> {
  const [controller, egress, web] = [await controllerText(), await egressText(), await consoleText()];
  return {
    controller: parseExposition(controller),
    egress: parseExposition(egress),
    console: parseExposition(web),
  };
}

/** https://prometheus.io/docs/instrumenting/exposition_formats/ */
export function parseExposition(text: string): Exported {
  const types = new Map([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type = '']) => [name, type]));
  const samples = [...text.matchAll(/^(\w+)(?:\{(.*)\})? (\S+)$/gm)].map(([, name = '', labels = '', value]) => ({
    name,
    labels: Object.fromEntries([...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, key, word]) => [key, word])),
    value: Number(value),
  }));
  return { types, samples };
}
