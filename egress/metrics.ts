import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

/** Never a host, session or user as a label: only classes and codes, whose number is fixed. */
export function egressMetrics(liveLeases: () => number) {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry, prefix: 'omicron_egress_' });
  return {
    registry,
    requests: new Counter({
      name: 'omicron_egress_requests_total',
      help: 'Requests by way of asking and outcome',
      labelNames: ['method', 'outcome'],
      registers,
    }),
    refusals: new Counter({
      name: 'omicron_egress_refusals_total',
      help: 'Requests that were not let through, by reason and class of address',
      labelNames: ['code', 'address_class'],
      registers,
    }),
    connections: new Gauge({ name: 'omicron_egress_connections', help: 'Connections to sites now open', registers }),
    leases: new Gauge({
      name: 'omicron_egress_leases',
      help: 'Leases now served',
      registers,
      collect() {
        this.set(liveLeases());
      },
    }),
    bytes: new Counter({
      name: 'omicron_egress_bytes_total',
      help: 'Bytes of ended connections',
      labelNames: ['direction'],
      registers,
    }),
    lookupSeconds: new Histogram({
      name: 'omicron_egress_lookup_seconds',
      help: 'Time to look a name up',
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
      help: 'Questions to the controller that got no answer',
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
