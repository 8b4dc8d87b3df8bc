import { collectDefaultMetrics, type Registry } from '@prometheus-io/client';

/** Parts of what @prometheus-io/client collects that no fleet is watched by: of one process, under names that `promtool check metrics` refuses, or both. */
const LEFT_OUT = /_nodejs_(active_|eventloop_utilization_|heap_space_size_|gc_)/;

/** The metrics of this Node process, each name under `prefix`. */
export function collectNodeMetrics(registry: Registry, prefix: string): void {
  collectDefaultMetrics({ register: registry, prefix });
  for (const { name } of registry.getMetricsAsArray())
    if (name.startsWith(prefix) && LEFT_OUT.test(name)) registry.removeSingleMetric(name);
}
