import { exportTimeoutMs, givenOf, type OtelEnvironment, otlpUrl, wholeNumber } from './otlp-environment.ts';

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

/**
 * Sends the metrics each `OTEL_METRIC_EXPORT_INTERVAL` milliseconds, and answers how to stop, which sends them once more. A collector that
 * is slow or away costs one request at a time. Throws EnvironmentError.
 */
export function startMetricExport(program: ExportedProgram, environment: OtelEnvironment): () => Promise<void> {
  const url = otlpUrl(program.name, 'METRICS', environment);
  if (url === undefined) return async () => {};
  const intervalMs = wholeNumber(program.name, environment, ['OTEL_METRIC_EXPORT_INTERVAL'], INTERVAL_MS);
  const timeoutMs = exportTimeoutMs(program.name, 'METRICS', environment, TIMEOUT_MS);
  const pairs = givenOf(environment, ['OTEL_EXPORTER_OTLP_METRICS_HEADERS', 'OTEL_EXPORTER_OTLP_HEADERS'])?.value;
  const headers = { ...readPairs(pairs), 'content-type': 'application/json' };
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

/** `a=b,c=d`, percent-encoded: https://opentelemetry.io/docs/specs/otel/protocol/exporter/#specifying-headers-via-environment-variables */
const readPairs = (text = ''): Record<string, string> =>
  Object.fromEntries(
    text.split(',').flatMap(pair => {
      const [, name, value = ''] = /^\s*([^=\s]+)\s*=\s*(.*?)\s*$/.exec(pair) ?? [];
      return name === undefined ? [] : [[name, decodeURIComponent(value)]];
    }),
  );

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
    ...readPairs(environment.OTEL_RESOURCE_ATTRIBUTES),
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
