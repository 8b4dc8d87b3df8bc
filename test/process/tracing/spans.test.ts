import { afterEach, describe, expect, it } from 'vitest';
import { prometheusConsoleMetrics } from '../../../console/metrics.ts';
import { OmicronError } from '../../../contract/problem.ts';
import { EnvironmentError } from '../../../process/environment.ts';
import { permittedAttributes } from '../../../process/span.ts';
import { currentSpan, inSpan, startTracing, traceHeaders, withTraceHeaders } from '../../../process/tracing.ts';
import { fakeCollector } from '../../fakes/collector.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';
const SENT = `00-${TRACE}-${PARENT}-01`;
const SERVER = { kind: 'server' } as const;
const CLIENT = { kind: 'client' } as const;

let stop: (() => Promise<void>) | undefined;
const environment = new Set<string>();
/** The exporter reads the process's own environment. */
function setVariables(variables: Record<string, string>): void {
  for (const [name, value] of Object.entries(variables)) {
    environment.add(name);
    process.env[name] = value;
  }
}
const lost: number[] = [];
const program = { name: 'test-program', version: '1.2.3', onLost: (spans: number) => lost.push(spans) };
async function traced(url: string, more: Record<string, string> = {}) {
  setVariables({ OTEL_EXPORTER_OTLP_ENDPOINT: url, ...more });
  stop = await startTracing(program, process.env);
}

afterEach(async () => {
  await stop?.();
  stop = undefined;
  for (const name of environment) delete process.env[name];
  environment.clear();
});

describe('without an endpoint', () => {
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' };
  it.each([{}, { ...endpoint, OTEL_SDK_DISABLED: 'true' }, { ...endpoint, OTEL_TRACES_EXPORTER: 'none' }])(
    'work is done, and nothing is passed on: %j',
    async variables => {
      stop = await startTracing(program, variables);
      expect(await inSpan('x', SERVER, async span => [span.ids, currentSpan(), traceHeaders()])).toEqual([
        undefined,
        undefined,
        {},
      ]);
      const request = { headers: { a: 'b' } };
      expect(withTraceHeaders(request)).toBe(request);
    },
  );
});

describe('a wrong variable is refused before anything is traced, by its name', () => {
  const url = 'http://127.0.0.1:1';
  it.each([
    [
      'OTEL_EXPORTER_OTLP_ENDPOINT',
      { OTEL_EXPORTER_OTLP_ENDPOINT: 'hunter22:hunter22@collector:4318/?key=hunter22' },
      /"collector:4318\/" is no http or https URL; write the collector's, e\.g\. http:\/\/collector:4318$/m,
    ],
    [
      'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
      { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://hunter22:hunter22@collector' },
      /"http:\/\/collector" has a name or a password before its host; send a key by OTEL_EXPORTER_OTLP_HEADERS/,
    ],
    [
      'OTEL_EXPORTER_OTLP_PROTOCOL',
      { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' },
      /"grpc" is not spoken here: unset it or write http\/json, .*4318/,
    ],
    [
      'OTEL_TRACES_EXPORTER',
      { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_TRACES_EXPORTER: 'zipkin' },
      /must be otlp or none, not "zipkin"/,
    ],
    [
      'OTEL_BSP_MAX_QUEUE_SIZE',
      { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_BSP_MAX_QUEUE_SIZE: 'many' },
      /from 1 to 65536, and is "many"$/m,
    ],
    [
      'OTEL_EXPORTER_OTLP_TIMEOUT',
      { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_EXPORTER_OTLP_TIMEOUT: '0' },
      /from 1 to 600000, and is "0"$/m,
    ],
    [
      'OTEL_TRACES_SAMPLER',
      { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_TRACES_SAMPLER: 'some' },
      /parentbased_traceidratio, and is "some"$/m,
    ],
    [
      'OTEL_TRACES_SAMPLER_ARG',
      { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_TRACES_SAMPLER_ARG: '7' },
      /from 0 to 1, and is "7"$/m,
    ],
    [
      'OTEL_RESOURCE_ATTRIBUTES',
      { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_RESOURCE_ATTRIBUTES: 'a=b,hunter22' },
      /entry 2 of 2 is no name=value; write name=value,name=value/,
    ],
    [
      'OTEL_EXPORTER_OTLP_HEADERS',
      { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_EXPORTER_OTLP_HEADERS: 'api-key=hunter22%zz' },
      /entry 1 of 1 is no name=value; .* percent-encoded/,
    ],
  ])('%s', async (name, variables, why) => {
    const refused = await startTracing(program, variables).catch(error => error);
    expect(refused).toBeInstanceOf(EnvironmentError);
    expect(refused.message).toContain(name);
    expect(refused.message).toMatch(why);
    expect(refused.message).not.toContain('hunter22');
    expect(currentSpan()).toBeUndefined();
  });
});

it('spans are below one another, across programs, and failed ones have a code and no text', async () => {
  await using collector = await fakeCollector();
  await traced(collector.url, { OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test' });
  const header = await inSpan('outer', { ...SERVER, parent: SENT }, async outer => {
    expect(outer.ids).toMatchObject({ trace_id: TRACE, parent_span_id: PARENT });
    expect(currentSpan()?.span_id).toBe(outer.ids?.span_id);
    const failing = inSpan('inner', CLIENT, async () => {
      throw new OmicronError('store_unavailable', 'the password is hunter22');
    });
    await expect(failing).rejects.toThrow('hunter22');
    return traceHeaders().traceparent ?? '';
  });
  await inSpan('next program', { ...SERVER, parent: header }, async () => {});
  await stop?.();
  const spans = collector.spans();
  const [outer, inner, next] = ['outer', 'inner', 'next program'].map(name => spans.find(span => span.name === name));
  expect(outer).toMatchObject({ service: 'test-program', traceId: TRACE, parentSpanId: PARENT, kind: 2 });
  expect(inner).toMatchObject({ traceId: TRACE, parentSpanId: outer?.spanId, kind: 3, status: 2 });
  expect(inner?.attributes).toEqual({ 'error.type': 'store_unavailable' });
  expect(next).toMatchObject({ traceId: TRACE, parentSpanId: outer?.spanId });
  expect(collector.received()).not.toContain('hunter22');
  expect(collector.received()).toContain('deployment.environment.name');
});

it('a step of a loop begins no trace, and a caller that is not sampled is followed', async () => {
  await using collector = await fakeCollector();
  await traced(collector.url);
  await inSpan('step of a loop', CLIENT, async span => expect(span.ids).toBeUndefined());
  await inSpan('unsampled', { ...SERVER, parent: `00-${TRACE}-${PARENT}-00` }, async span => {
    expect(span.ids?.trace_id).toBe(TRACE); // the timeline has the caller's ids all the same
    expect(traceHeaders().traceparent).toMatch(/-00$/);
    await inSpan('below', CLIENT, async () => {});
  });
  await inSpan('sampled', SERVER, async () => {});
  await stop?.();
  expect(collector.spans().map(({ name }) => name)).toEqual(['sampled']);
});

it('values that are none of a span’s are left out: addresses, texts, names that someone chose', () => {
  const hostile = {
    'http.route': '/files/a?token=hunter22',
    'url.full': 'https://shop.example/?hunter22',
    'url.query': 'hunter22',
    'http.request.method': 'hunter22',
    'http.response.status_code': 99,
    'gen_ai.tool.name': 'Tool hunter22',
    'gen_ai.tool.call.arguments': '{"text":"hunter22"}',
    'db.query.text': "select 'hunter22'",
    'db.stored_procedure.name': 'omicron.acquire(hunter22)',
    'error.type': 'Error: hunter22',
    'omicron.session.id': 'ada/hunter22',
    'exception.message': 'hunter22',
    'mcp.method.name': { toString: () => 'tools/call' },
    toString: 'hunter22',
    ['__proto__']: 'hunter22',
  };
  expect(permittedAttributes(hostile)).toEqual({});
});

it('batches and queue have the sizes that the environment names, and the address of traces alone is one too', async () => {
  await using collector = await fakeCollector();
  setVariables({
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/own/path`,
    OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '10',
    OTEL_BSP_MAX_QUEUE_SIZE: '40',
  });
  stop = await startTracing(program, process.env);
  lost.length = 0;
  for (let each = 0; each < 100; each++) await inSpan('work', SERVER, async () => {});
  await stop();
  const batches = collector.batches();
  expect(Math.max(...batches.map(({ spans }) => spans))).toBe(10);
  expect(new Set(batches.map(({ path }) => path))).toEqual(new Set(['/own/path']));
  const arrived = collector.spans().length;
  expect(lost).toEqual([100 - arrived]);
  expect(arrived).toBeLessThanOrEqual(60); // a queue, and the batches that were under way
});

it('work waits for no answer of a slow collector, which gets what was made meanwhile', async () => {
  await using collector = await fakeCollector();
  collector.answer('waits');
  await traced(collector.url);
  for (let each = 0; each < 1_000; each++) await inSpan('work', SERVER, async () => {});
  expect(collector.spans()).toEqual([]);
  collector.answer('ok');
  await stop?.();
  expect(collector.spans()).toHaveLength(1_000);
});

it.each(['refuses', 'hangs', 'is away'] as const)(
  'a collector that %s costs no work, and its spans are counted',
  async how => {
    const collector = await fakeCollector();
    if (how === 'is away') await collector[Symbol.asyncDispose]();
    else collector.answer(how);
    await using _ = how === 'is away' ? undefined : collector;
    await traced(collector.url);
    lost.length = 0;
    const { registry } = prometheusConsoleMetrics();
    const count = 10_000;
    for (let each = 0; each < count; each++) await inSpan('work', SERVER, async () => {});
    await stop?.();
    expect(lost.reduce((sum, each) => sum + each, 0)).toBeGreaterThan(count / 2);
    expect(lost.reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(count);
    // A scrape reads them too, each once; and what the collectors of the tests before had not answered.
    const scraped = async () => Number(/^omicron_console_spans_lost_total (\d+)$/m.exec(await registry.metrics())?.[1]);
    expect(await scraped()).toBeGreaterThanOrEqual(lost.reduce((sum, each) => sum + each, 0));
    expect(await scraped()).toBeLessThan(2 * count);
  },
);
