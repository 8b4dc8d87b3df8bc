import {
  exportHeaders,
  exportTimeoutMs,
  type OtelEnvironment,
  otlpUrl,
  resourceAttributes,
  wholeNumber,
} from './otlp-environment.ts';

// The metrics of this process as OTLP over HTTP, in JSON, under the names that Prometheus scrapes:
// https://opentelemetry.io/docs/specs/otlp/#otlphttp-request. Off unless the standard variables name an endpoint.

/** A metric with its values, as @prometheus-io/client lists it. */
export interface MetricFamily {
  readonly name: string;
  readonly help: string;
  /** `counter`, `gauge`, `histogram` or `summary`; @prometheus-io/client's types say a number. */
  readonly type: unknown;
  readonly values: readonly MetricSample[];
}

interface MetricSample {
  readonly value: number;
  readonly labels?: Readonly<Record<string, string | number | undefined>>;
  /** In a histogram or summary the name with `_bucket`, `_sum` or `_count`. */
  readonly metricName?: string;
}

export interface ExportedProgram {
  /** e.g. `omicron-controller`; `OTEL_SERVICE_NAME` overrides it. */
  readonly name: string;
  readonly version: string;
  readonly read: () => Promise<readonly MetricFamily[]>;
  /** Called when metrics were not taken; the next ones have the same totals. */
  readonly onFailed: (error: unknown) => void;
}

const INTERVAL_MS = { min: 100, max: 86_400_000, otherwise: 60_000 };
const TIMEOUT_MS = 10_000;
/** `AGGREGATION_TEMPORALITY_CUMULATIVE`. */
const CUMULATIVE = 2;

/** How metrics are sent; undefined: they are not. Programs ask before they serve anyone. Throws EnvironmentError. */
export function readMetricExport(program: string, environment: OtelEnvironment) {
  const url = otlpUrl(program, 'METRICS', environment);
  if (url === undefined) return undefined;
  resourceAttributes(program, environment);
  return {
    url,
    intervalMs: wholeNumber(program, environment, ['OTEL_METRIC_EXPORT_INTERVAL'], INTERVAL_MS),
    timeoutMs: exportTimeoutMs(program, 'METRICS', environment, TIMEOUT_MS),
    headers: { ...exportHeaders(program, 'METRICS', environment), 'content-type': 'application/json' },
  };
}

/**
 * Sends the metrics each `OTEL_METRIC_EXPORT_INTERVAL` milliseconds, and answers how to stop, which sends them once more. A collector that
 * is slow or away costs one request at a time. Throws EnvironmentError.
 */
export function startMetricExport(program: ExportedProgram, environment: OtelEnvironment): () => Promise<void> {
  const settings = readMetricExport(program.name, environment);
  if (settings === undefined) return async () => {};
  const { url, intervalMs, timeoutMs, headers } = settings;
  const startMs = Date.now();
  let sending: Promise<void> | undefined;

  const send = async (): Promise<void> => {
    try {
      const body = JSON.stringify(exportRequest(program, environment, await program.read(), startMs, Date.now()));
      const signal = AbortSignal.timeout(timeoutMs);
      const answer = await fetch(url, { method: 'POST', headers, body, redirect: 'error', signal });
      await answer.body?.cancel();
      if (!answer.ok) throw new Error(`the collector answered ${answer.status}`);
    } catch (error) {
      program.onFailed(error);
    }
  };
  const kick = (): Promise<void> => {
    sending ??= send().finally(() => {
      sending = undefined;
    });
    return sending;
  };
  const timer = setInterval(() => void kick(), intervalMs);
  timer.unref();
  return async () => {
    clearInterval(timer);
    await sending;
    await kick();
  };
}

const attributesOf = (labels: MetricSample['labels'] = {}) =>
  Object.entries(labels).flatMap(([key, value]) =>
    value === undefined ? [] : [{ key, value: { stringValue: String(value) } }],
  );

/** An `ExportMetricsServiceRequest`: https://github.com/open-telemetry/opentelemetry-proto/blob/main/opentelemetry/proto/metrics/v1/metrics.proto */
export function exportRequest(
  { name, version }: Pick<ExportedProgram, 'name' | 'version'>,
  environment: OtelEnvironment,
  families: readonly MetricFamily[],
  startMs: number,
  nowMs: number,
) {
  const resource = {
    ...resourceAttributes(name, environment),
    'service.version': version,
    'service.name': environment.OTEL_SERVICE_NAME || name,
  };
  const times = { startTimeUnixNano: `${startMs}000000`, timeUnixNano: `${nowMs}000000` };
  const metrics = families
    .filter(({ values }) => values.length > 0)
    .map(family => ({ name: family.name, description: family.help, ...dataOf(family, times) }));
  return {
    resourceMetrics: [
      {
        resource: { attributes: attributesOf(resource) },
        scopeMetrics: [{ scope: { name: 'omicron-browser' }, metrics }],
      },
    ],
  };
}

interface Times {
  readonly startTimeUnixNano: string;
  readonly timeUnixNano: string;
}

function dataOf({ name, type, values }: MetricFamily, times: Times) {
  if (type === 'histogram')
    return { histogram: { aggregationTemporality: CUMULATIVE, dataPoints: histogramPoints(name, values, times) } };
  if (type === 'summary') return { summary: { dataPoints: summaryPoints(name, values, times) } };
  const dataPoints = values.map(({ labels, value }) => ({
    attributes: attributesOf(labels),
    ...times,
    asDouble: value,
  }));
  return type === 'counter'
    ? { sum: { aggregationTemporality: CUMULATIVE, isMonotonic: true, dataPoints } }
    : { gauge: { dataPoints } };
}

/** Prometheus counts each bucket with those below it; OTLP counts it alone. */
function histogramPoints(name: string, values: readonly MetricSample[], times: Times) {
  return seriesOf(name, values).map(({ attributes, samples, count, sum }) => {
    const buckets = samples
      .filter(({ labels, metricName }) => metricName === `${name}_bucket` && labels?.le !== '+Inf')
      .map(({ labels, value }) => ({ bound: Number(labels?.le), below: value }))
      .toSorted((a, b) => a.bound - b.bound);
    const below = [...buckets.map(bucket => bucket.below), count];
    return {
      attributes,
      ...times,
      count: String(count),
      sum,
      explicitBounds: buckets.map(({ bound }) => bound),
      bucketCounts: below.map((each, index) => String(each - (below[index - 1] ?? 0))),
    };
  });
}

const summaryPoints = (name: string, values: readonly MetricSample[], times: Times) =>
  seriesOf(name, values).map(({ attributes, samples, count, sum }) => ({
    attributes,
    ...times,
    count: String(count),
    sum,
    quantileValues: samples.flatMap(({ labels, value }) =>
      labels?.quantile === undefined ? [] : [{ quantile: Number(labels.quantile), value }],
    ),
  }));

/** The samples of a histogram or summary, one group for each set of labels. */
function seriesOf(name: string, values: readonly MetricSample[]) {
  const series = Map.groupBy(values, ({ labels: { le: _, quantile: __, ...labels } = {} }) =>
    JSON.stringify(attributesOf(labels)),
  );
  return [...series].map(([attributes, samples]) => {
    const part = (suffix: string) => samples.find(({ metricName }) => metricName === `${name}${suffix}`)?.value ?? 0;
    return { attributes: JSON.parse(attributes), samples, count: part('_count'), sum: part('_sum') };
  });
}
