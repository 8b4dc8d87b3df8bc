import { RUNNER_TRACES_PATH } from '../contract/names.ts';
import type { Environment } from './environment-type.ts';
import { CONTROLLER_URL } from './parts/runner-endpoints.ts';
import { byField, type Given } from './settings.ts';

type Collected = Pick<Environment, 'collector'>;

const sampling = ({ collector }: Collected): Readonly<Record<string, Given>> => ({
  OTEL_TRACES_SAMPLER: byField('collector.traceRatio', collector?.traceRatio && 'parentbased_traceidratio'),
  OTEL_TRACES_SAMPLER_ARG: byField('collector.traceRatio', collector?.traceRatio),
});

/** The collector of a program's traces and metrics, and the share of traces that it keeps. */
export const telemetrySettings = (env: Collected): Readonly<Record<string, Given>> => ({
  OTEL_EXPORTER_OTLP_ENDPOINT: byField('collector.endpoint', env.collector?.endpoint),
  ...sampling(env),
});

/** A runner reaches no collector: the controller takes its spans. */
export const runnerTelemetrySettings = (env: Collected): Readonly<Record<string, Given>> => ({
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: byField(
    'collector.endpoint',
    env.collector && CONTROLLER_URL + RUNNER_TRACES_PATH,
  ),
  ...sampling(env),
});
