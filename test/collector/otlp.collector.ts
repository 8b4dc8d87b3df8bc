import { beforeAll, expect, it } from 'vitest';
import { egressMetrics } from '../../egress/metrics.ts';
import { startMetricExport } from '../../process/metric-export.ts';
import { eventually } from '../eventually.ts';
import { fakeCollector } from '../fakes/collector.ts';
import { expectTraces } from '../local/expect-traces.ts';
import { buildCollector, startCollector } from './real-collector.ts';

let program: string;
beforeAll(() => {
  program = buildCollector();
});

it("OpenTelemetry's collector takes the traces of a local stack, and passes on no secret", async () => {
  await using target = await fakeCollector();
  await using collector = await startCollector(program, target);
  await expectTraces({ ...target, url: collector.url });
}, 180_000);

it("OpenTelemetry's collector takes metrics, under the names that Prometheus scrapes", async () => {
  await using target = await fakeCollector();
  await using collector = await startCollector(program, target);
  const { registry, refusals, dialSeconds } = egressMetrics({
    leases: () => 0,
    clients: () => ({ unauthenticated: 0, idle: 0, busy: 0 }),
  });
  refusals.inc({ code: 'host_denied', address_class: 'none' }, 3);
  dialSeconds.observe(0.3);
  const stop = startMetricExport(
    {
      name: 'omicron-egress',
      version: '0',
      read: () => registry.getMetricsAsJSON(),
      onFailed: error => expect.unreachable(String(error)),
    },
    { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_METRIC_EXPORT_INTERVAL: '200' },
  );
  await eventually('the metrics come through', () => target.metrics().length > 0);
  await stop();
  const counted = (await registry.getMetricsAsJSON()).filter(({ values }) => values.length > 0);
  const passedOn = JSON.parse(target.metrics()[0]?.body ?? '').resourceMetrics[0].scopeMetrics[0].metrics;
  expect(passedOn.map(({ name }: { name: string }) => name)).toEqual(counted.map(({ name }) => name));
});
