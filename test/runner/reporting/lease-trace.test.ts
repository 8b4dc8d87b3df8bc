import { afterEach, expect, test, vi } from 'vitest';
import { openSpan, startTracing } from '../../../process/tracing.ts';
import { LeaseTrace } from '../../../runner/reporting/lease-trace.ts';
import { RunningSpans } from '../../../runner/reporting/running-spans.ts';
import { fakeCollector } from '../../fakes/collector.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const ASSIGNED = '00f067aa0ba902b7';
const LEASE = { session_id: '0b9c8a4e-6d6f-4f0e-9d53-27f3a1c1d111', epoch: 2 };

afterEach(() => vi.unstubAllEnvs());

async function traced(url: string) {
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', url);
  return startTracing({ name: 'omicron-runner', version: '0', onLost: () => expect.unreachable() }, process.env);
}

test('a lease’s trace links to each of its calls, a hundred from one span, and to none that was not sampled', async () => {
  await using collector = await fakeCollector();
  const stop = await traced(collector.url);
  const lease = new LeaseTrace(`00-${TRACE}-${ASSIGNED}-01`, LEASE);
  const calls = Array.from({ length: 101 }, () => openSpan('tools/call', { kind: 'server' }));
  for (const call of calls) lease.linkTo(call);
  lease.linkTo(openSpan('tools/call', { kind: 'server', parent: `00-${TRACE}-${ASSIGNED}-00` }));
  lease.end();
  lease.end();
  await stop();
  const spans = collector.spans();
  expect(spans).toMatchObject([
    { name: 'calls', traceId: TRACE, parentSpanId: ASSIGNED, attributes: { 'omicron.session.id': LEASE.session_id } },
    { name: 'calls', traceId: TRACE, parentSpanId: ASSIGNED, attributes: { 'omicron.session.epoch': 2 } },
  ]);
  expect(spans.map(({ links }) => links.length)).toEqual([100, 1]);
  expect(spans.flatMap(({ links }) => links.map(({ spanId }) => spanId))).toEqual(calls.map(({ ids }) => ids?.span_id));
});

test.each([undefined, 'hunter22', `00-${TRACE}-${ASSIGNED}-00`])(
  'an assignment by %j has no span of calls',
  async sent => {
    await using collector = await fakeCollector();
    const stop = await traced(collector.url);
    const lease = new LeaseTrace(sent, LEASE);
    lease.linkTo(openSpan('tools/call', { kind: 'server' }));
    lease.end();
    await stop();
    expect(collector.spans()).toEqual([]);
  },
);

test('an event is in the call that began last, then in the trace of the lease, traced here or not', () => {
  const spans = new RunningSpans();
  expect(spans.ids).toBeUndefined();
  spans.lease = new LeaseTrace(`00-${TRACE}-${ASSIGNED}-00`, LEASE);
  const untraced = openSpan('tools/call', { kind: 'server' });
  const end = spans.beginCall(untraced, { trace_id: 'a', span_id: 'b', parent_span_id: 'c' });
  expect([spans.ids, spans.traceparent]).toEqual([{ trace_id: 'a', span_id: 'b' }, undefined]);
  const endOther = spans.beginCall(untraced, undefined);
  expect(spans.ids).toEqual({ trace_id: 'a', span_id: 'b' });
  endOther();
  end();
  expect(spans.ids).toEqual({ trace_id: TRACE, span_id: ASSIGNED });
});
