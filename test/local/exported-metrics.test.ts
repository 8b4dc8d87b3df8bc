import { rm } from 'node:fs/promises';
import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { startLocalStack } from '../../cli/commands/up.ts';
import { neverAborts } from '../../time/clock.ts';
import { eventually } from '../eventually.ts';
import { fakeCollector } from '../fakes/collector.ts';
import { newFolder, shell } from './machine.ts';

it('the controller and the egress proxy of a local stack send their metrics, with the key and at the interval of the environment', async () => {
  await using collector = await fakeCollector();
  const folder = await newFolder();
  const stack = await startLocalStack(
    {
      folder,
      environment: {
        ...shell(),
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_EXPORTER_OTLP_HEADERS: 'api-key=key-of-the-collector',
        OTEL_METRIC_EXPORT_INTERVAL: '200',
        OTEL_TRACES_EXPORTER: 'none',
      },
      signal: neverAborts(),
      out: { write() {} } as never, // nothing is answered
      stdin: new PassThrough() as never,
      exitCode: 0,
      prompt() {},
      progress() {},
    },
    { pool: 0 },
  );
  const services = () =>
    new Set(
      collector.metrics().flatMap(({ body, headers }) => {
        expect(headers['api-key']).toBe('key-of-the-collector');
        const { resource, scopeMetrics } = JSON.parse(body).resourceMetrics[0];
        const { value } = resource.attributes.find(({ key }: { key: string }) => key === 'service.name');
        return scopeMetrics[0].metrics.map(({ name }: { name: string }) => `${value.stringValue} ${name}`);
      }),
    );
  try {
    await eventually('metrics of both', () => {
      const names = services();
      return (
        names.has('omicron-controller omicron_pool_target') && names.has('omicron-egress omicron_egress_connections')
      );
    });
  } finally {
    const before = collector.metrics().length;
    await stack.stop();
    expect(collector.metrics().length).toBeGreaterThan(before);
    await rm(folder, { recursive: true, force: true });
  }
  expect(collector.batches()).toEqual([]);
});
