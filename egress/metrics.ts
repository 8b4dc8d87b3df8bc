import { Counter, Gauge, Histogram, Registry } from '@prometheus-io/client';
import { lostSpansMetric } from '../process/lost-spans.ts';
import { collectNodeMetrics } from '../process/node-metrics.ts';

/** Labels are classes and codes, whose number is fixed; never a host, session or user. */
export function egressMetrics(live: {
  leases: () => number;
  clients: () => Readonly<Record<'unauthenticated' | 'idle' | 'busy', number>>;
}) {
  const registry = new Registry();
  const registers = [registry];
  collectNodeMetrics(registry, 'omicron_egress_');
  lostSpansMetric(registry, 'omicron_egress_');
  return {
    registry,
    requests: new Counter({
      name: 'omicron_egress_requests_total',
      help: 'Requests by method and outcome',
      labelNames: ['method', 'outcome'],
      registers,
    }),
    refusals: new Counter({
      name: 'omicron_egress_refusals_total',
      help: 'Refused requests by code and address class',
      labelNames: ['code', 'address_class'],
      registers,
    }),
    connections: new Gauge({ name: 'omicron_egress_connections', help: 'Open connections to sites', registers }),
    leases: new Gauge({
      name: 'omicron_egress_leases',
      help: 'Leases being served',
      registers,
      collect() {
        this.set(live.leases());
      },
    }),
    clients: new Gauge({
      name: 'omicron_egress_clients',
      help: 'Open connections of clients by state',
      labelNames: ['state'],
      registers,
      collect() {
        for (const [state, count] of Object.entries(live.clients())) this.set({ state }, count);
      },
    }),
    clientsClosed: new Counter({
      name: 'omicron_egress_clients_closed_total',
      help: 'Connections of clients that were closed because another needed the place, or because a head was late',
      labelNames: ['reason'],
      registers,
    }),
    bytes: new Counter({
      name: 'omicron_egress_bytes_total',
      help: 'Bytes transferred by closed connections',
      labelNames: ['direction'],
      registers,
    }),
    lookupSeconds: new Histogram({
      name: 'omicron_egress_lookup_seconds',
      help: 'Time to resolve a name',
      buckets: [0.001, 0.005, 0.025, 0.1, 0.5, 1, 3],
      registers,
    }),
    dialSeconds: new Histogram({
      name: 'omicron_egress_dial_seconds',
      help: 'Time to connect to a site',
      buckets: [0.001, 0.005, 0.025, 0.1, 0.5, 1, 3, 10],
      registers,
    }),
    policyFailures: new Counter({
      name: 'omicron_egress_policy_failures_total',
      help: 'Failed calls to the controller',
      registers,
    }),
    eventsDropped: new Counter({
      name: 'omicron_egress_events_dropped_total',
      help: 'Denials that could not be reported',
      registers,
    }),
  };
}
export type EgressMetrics = ReturnType<typeof egressMetrics>;
