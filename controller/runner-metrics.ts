import { Counter, Gauge, Histogram, type Registry } from '@prometheus-io/client';
import type { ProviderWrite } from './ports/runners.ts';

/** Parts of a launch: making the runner's objects, waiting until it is warm, writing that to its row. */
export const LAUNCH_PARTS = ['create', 'warm', 'record'] as const;
export type LaunchPart = (typeof LAUNCH_PARTS)[number];
/** `timeout`: its time was over; `sandbox`: no Chromium sandbox where it runs; `failed`: anything else, which the log has. */
export const LAUNCH_FAULTS = ['timeout', 'sandbox', 'failed'] as const;
export type LaunchFault = (typeof LAUNCH_FAULTS)[number];

/** Verbs and resources of writes, as the API server names them; both of another one are `other`. */
export const WRITES = [
  ['create', 'pods'],
  ['patch', 'pods'],
  ['delete', 'pods'],
  ['create', 'endpointslices'],
  ['replace', 'endpointslices'],
  ['delete', 'endpointslices'],
  ['other', 'other'],
] as const;
export const WRITE_OUTCOMES = ['ok', 'failed'] as const;

export interface RunnerMetrics {
  launched(part: LaunchPart, seconds: number): void;
  /** A runner start failed, in this part of its launch. */
  runnerFailed(part: LaunchPart, fault: LaunchFault): void;
  reaped(leases: number): void;
  /** The pool holds this many warm runners. */
  poolTarget(warm: number): void;
  /** A session was hibernated, this long after its runner was asked. */
  hibernated(seconds: number): void;
  /** The place of runners was asked to change something. */
  wrote(write: ProviderWrite): void;
}

/** The series of runners and of what makes them. */
export function runnerMetrics(registry: Registry): RunnerMetrics {
  const registers = [registry];
  const launches = new Histogram({
    name: 'omicron_launch_part_seconds',
    help: 'Time in each part of a launch: create (its objects), warm (until it answers), record (its row)',
    labelNames: ['part'],
    buckets: [0.1, 1, 2.5, 5, 15, 60],
    registers,
  });
  const failures = new Counter({
    name: 'omicron_pod_create_failures_total',
    help: 'Runners that did not start, by the part of the launch and the reason',
    labelNames: ['part', 'reason'],
    registers,
  });
  for (const part of LAUNCH_PARTS) for (const reason of LAUNCH_FAULTS) failures.inc({ part, reason }, 0);
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
  const hibernations = new Histogram({
    name: 'omicron_hibernate_seconds',
    help: 'From the order to a runner until its session was hibernated; restored ones are in omicron_lease_start_seconds',
    buckets: [0.1, 0.5, 1, 2.5, 10],
    registers,
  });
  const writes = new Counter({
    name: 'omicron_api_writes_total',
    help: 'Writes to the Kubernetes API by verb, resource and outcome; each repetition is one',
    labelNames: ['verb', 'resource', 'outcome'],
    registers,
  });
  for (const [verb, resource] of WRITES)
    for (const outcome of WRITE_OUTCOMES) writes.inc({ verb, resource, outcome }, 0);
  return {
    launched: (part, seconds) => launches.observe({ part }, seconds),
    runnerFailed: (part, reason) => failures.inc({ part, reason }),
    reaped: leases => deletes.inc(leases),
    poolTarget: warm => target.set(warm),
    hibernated: seconds => hibernations.observe(seconds),
    wrote({ verb, resource, ok }) {
      const known = WRITES.some(([knownVerb, knownResource]) => knownVerb === verb && knownResource === resource);
      const outcome = ok ? 'ok' : 'failed';
      writes.inc(known ? { verb, resource, outcome } : { verb: 'other', resource: 'other', outcome });
    },
  };
}
