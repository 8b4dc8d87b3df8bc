import { expect, it } from 'vitest';
import { egressMetrics } from '../../../egress/metrics.ts';
import { EnvironmentError } from '../../../process/environment.ts';
import { exportRequest, startMetricExport } from '../../../process/metric-export.ts';
import { eventually } from '../../eventually.ts';
import { fakeCollector } from '../../fakes/collector.ts';

const failures: unknown[] = [];
const onFailed = (error: unknown) => void failures.push(error);

/** Metrics of a program, as @prometheus-io/client lists them. */
function someMetrics() {
  const { registry, refusals, connections, dialSeconds } = egressMetrics({
    leases: () => 0,
    clients: () => ({ unauthenticated: 0, idle: 0, busy: 0 }),
  });
  refusals.inc({ code: 'a "quoted" code', address_class: 'none' }, 3);
  connections.set(7);
  for (const seconds of [0.0005, 0.0007, 0.3, 20]) dialSeconds.observe(seconds);
  return () => registry.getMetricsAsJSON();
}

it('a summary has its quantiles, its count and its sum', () => {
  const values = [
    { labels: { quantile: 0.5 }, value: 0.1 },
    { labels: { quantile: 0.99 }, value: 0.4 },
    { metricName: 'omicron_u_sum', labels: {}, value: 1.5 },
    { metricName: 'omicron_u_count', labels: {}, value: 6 },
  ];
  const family = { name: 'omicron_u', help: 'Utilization', type: 'summary', values };
  const request = exportRequest({ name: 'x', version: '1' }, {}, [family], 1_000, 2_000);
  const quantileValues = [
    { quantile: 0.5, value: 0.1 },
    { quantile: 0.99, value: 0.4 },
  ];
  expect(request.resourceMetrics[0]?.scopeMetrics[0]?.metrics[0]).toMatchObject({
    summary: { dataPoints: [{ attributes: [], count: '6', sum: 1.5, quantileValues }] },
  });
});

it('nothing is read or sent without an endpoint, or where metrics are off', async () => {
  const read = () => Promise.reject(new Error('read'));
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' };
  for (const off of [{}, { ...endpoint, OTEL_SDK_DISABLED: 'true' }, { ...endpoint, OTEL_METRICS_EXPORTER: 'none' }]) {
    const stop = startMetricExport({ name: 'x', version: '0', read, onFailed: () => expect.unreachable() }, off);
    await stop();
  }
});

it('counters, gauges and histograms have their names, labels and values, each bucket counted alone', async () => {
  const read = someMetrics();
  const environment = { OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=a%20b' };
  const request = exportRequest({ name: 'x', version: '1' }, environment, await read(), 1_000, 2_000);
  const [{ resource, scopeMetrics } = { resource: undefined, scopeMetrics: [] }] = request.resourceMetrics;
  expect(resource?.attributes).toContainEqual({ key: 'service.name', value: { stringValue: 'x' } });
  expect(resource?.attributes).toContainEqual({ key: 'deployment.environment.name', value: { stringValue: 'a b' } });
  const times = { startTimeUnixNano: '1000000000', timeUnixNano: '2000000000' };
  const attribute = (key: string, stringValue: string) => [{ key, value: { stringValue } }];
  const metric = (name: string) => scopeMetrics[0]?.metrics.find(each => each.name === `omicron_egress_${name}`);
  expect(metric('refusals_total')).toEqual({
    name: 'omicron_egress_refusals_total',
    description: 'Refused requests by code and address class',
    sum: {
      aggregationTemporality: 2,
      isMonotonic: true,
      dataPoints: [
        {
          attributes: [...attribute('code', 'a "quoted" code'), ...attribute('address_class', 'none')],
          ...times,
          asDouble: 3,
        },
      ],
    },
  });
  expect(metric('connections')).toMatchObject({ gauge: { dataPoints: [{ attributes: [], ...times, asDouble: 7 }] } });
  expect(metric('dial_seconds')).toMatchObject({
    histogram: {
      aggregationTemporality: 2,
      dataPoints: [
        {
          attributes: [],
          ...times,
          count: '4',
          sum: 20.3012,
          explicitBounds: [0.001, 0.005, 0.025, 0.1, 0.5, 1, 3, 10],
          bucketCounts: ['2', '0', '0', '0', '1', '0', '0', '0', '1'],
        },
      ],
    },
  });
});

it('they are sent at the interval with the headers of the environment, and once more at the end', async () => {
  await using collector = await fakeCollector();
  const read = someMetrics();
  const stop = startMetricExport(
    { name: 'x', version: '0', read, onFailed },
    {
      OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`,
      OTEL_EXPORTER_OTLP_HEADERS: 'api-key=a%3Db, other=1',
      OTEL_METRIC_EXPORT_INTERVAL: '100',
    },
  );
  await eventually('two exports', () => collector.metrics().length >= 2);
  const before = collector.metrics().length;
  await stop();
  expect(collector.metrics().length).toBeGreaterThan(before);
  expect(collector.metrics()[0]?.headers).toMatchObject({ 'api-key': 'a=b', other: '1' });
});

it('a collector that refuses is reported and costs nothing else', async () => {
  await using collector = await fakeCollector();
  collector.answer('refuses');
  failures.length = 0;
  const read = someMetrics();
  const stop = startMetricExport(
    { name: 'x', version: '0', read, onFailed },
    { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
  );
  await stop();
  expect(failures.map(String)).toEqual(['Error: the collector answered 400']);
});

it.each([
  ['OTEL_EXPORTER_OTLP_ENDPOINT', { OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318' }],
  [
    'OTEL_METRIC_EXPORT_INTERVAL',
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1', OTEL_METRIC_EXPORT_INTERVAL: 'soon' },
  ],
  ['OTEL_METRICS_EXPORTER', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1', OTEL_METRICS_EXPORTER: 'zipkin' }],
  [
    'OTEL_EXPORTER_OTLP_METRICS_HEADERS',
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1', OTEL_EXPORTER_OTLP_METRICS_HEADERS: 'hunter22' },
  ],
])('a wrong %s is refused by its name', (name, environment) => {
  const start = () => startMetricExport({ name: 'x', version: '0', read: async () => [], onFailed }, environment);
  expect(start).toThrow(EnvironmentError);
  expect(start).toThrow(name);
});
