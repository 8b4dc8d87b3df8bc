import { Gauge, Histogram, Registry } from '@prometheus-io/client';
import { lostSpansMetric } from '../process/lost-spans.ts';
import { collectNodeMetrics } from '../process/node-metrics.ts';
import type { ConsoleMetrics } from './server/watched-requests.ts';

/** The metrics of the console on a cluster; never a person, a user or a session as a label. */
export function prometheusConsoleMetrics(): ConsoleMetrics & { readonly registry: Registry } {
  const registry = new Registry();
  const registers = [registry];
  collectNodeMetrics(registry, 'omicron_console_');
  lostSpansMetric(registry, 'omicron_console_');
  let counts: Parameters<ConsoleMetrics['watch']>[0] | undefined;
  const requests = new Histogram({
    name: 'omicron_console_request_seconds',
    help: "Time to answer a request of the console's API: answered, refused (4xx) or failed (5xx)",
    labelNames: ['outcome'],
    buckets: [0.01, 0.05, 0.25, 1, 5, 30],
    registers,
  });
  new Gauge({
    name: 'omicron_console_live_views',
    help: 'Open sockets of live views',
    registers,
    collect() {
      this.set(counts?.liveViews() ?? 0);
    },
  });
  new Gauge({
    name: 'omicron_console_sign_ins',
    help: 'Sign-ins that are open; a person may have several',
    registers,
    collect() {
      this.set(counts?.signIns() ?? 0);
    },
  });
  return {
    registry,
    answered: (outcome, seconds) => requests.observe({ outcome }, seconds),
    watch(given) {
      counts = given;
    },
  };
}
