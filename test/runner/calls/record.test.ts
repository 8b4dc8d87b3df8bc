import { expect, test } from 'vitest';
import { toolFailure } from '../../../contract/tool-failure.ts';
import { startTracing } from '../../../process/tracing.ts';
import type { CallLease } from '../../../runner/calls/call-lease.ts';
import { record } from '../../../runner/calls/record.ts';
import { RunningSpans } from '../../../runner/reporting/running-spans.ts';
import { steppedClock } from '../../fakes/clock.ts';
import { fakeCollector } from '../../fakes/collector.ts';
import { stageCall, text } from './stage-call.ts';

function lease() {
  const clock = steppedClock();
  const events: Record<string, unknown>[] = [];
  const parts = {
    clock,
    events: { add: (kind: string, data: object) => events.push({ kind, ...data }) },
    browser: { spans: new RunningSpans() },
    redact: (given: string) => given.replaceAll('hunter22', 'XXX'),
  };
  return { clock, events, stage: record(parts as unknown as CallLease) }; // as much of a lease as the stage reads
}

test('a call is in the timeline with its arguments, its time and its page, without secrets', async () => {
  const { stage, events, clock } = lease();
  const call = stageCall({ given: { target: 'e1', text: 'hunter22' } });
  await stage(call, async () => {
    clock.advance(1_500);
    call.page = { url: 'https://shop.example/?hunter22' };
    return text('done');
  });
  expect(events).toEqual([
    expect.objectContaining({
      kind: 'tool.call',
      tool: 'browser_click',
      outcome: 'ok',
      duration_ms: 1_500,
      ...{ arguments: { target: 'e1', text: 'XXX' }, url: 'https://shop.example/?XXX' },
    }),
  ]);
});

test('a failure has its code, without what is particular to one call', async () => {
  const { stage, events } = lease();
  for (const code of ['tabs_full', 'browser_action_timeout:browser_click:5s'] as const)
    await stage(stageCall(), async () => toolFailure(code, 'Not done.'));
  expect(events.map(({ code }) => code)).toEqual(['tabs_full', 'browser_action_timeout']);
});

test('a failure has its text, a blocked call its layer and rule', async () => {
  const { stage, events } = lease();
  await stage(stageCall(), async () => ({ ...text('not there'), isError: true }));
  const blocked = stageCall();
  await stage(blocked, async () => {
    blocked.verdict = { action: 'block', reason: 'No.', layer: 'session', index: 2 } as never;
    return { ...text('no'), isError: true };
  });
  expect(events).toMatchObject([
    { outcome: 'error', error: 'not there' },
    { outcome: 'blocked', layer: 'session', rule: 2 },
  ]);
});

test('a call’s span is below its agent’s, is the one in the timeline, and has no text of call, page or answer', async () => {
  await using collector = await fakeCollector();
  process.env.OTEL_EXPORTER_OTLP_ENDPOINT = collector.url;
  const stop = await startTracing({ name: 'omicron-runner', version: '0', onLost() {} }, process.env);
  try {
    const { stage, events } = lease();
    const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
    const call = stageCall({ given: { target: 'e1', text: 'hunter22' } });
    const sent = {
      ...call,
      caller: { ...call.caller, traceparent: `00-${trace}-00f067aa0ba902b7-01`, protocolVersion: '2025-11-25' },
    };
    await stage(sent, async () => {
      sent.page = { url: 'https://shop.example/?hunter22' };
      return toolFailure('browser_action_timeout:browser_click:5s', 'The button "hunter22" did not answer.');
    });
    // A name that an agent made up, and a code that a page may have written.
    const { admitted: _, ...unknown } = stageCall();
    await stage(
      { ...unknown, name: 'hunter22', caller: { ...unknown.caller, protocolVersion: 'hunter22' } },
      async () => ({
        ...text('hunter22'),
        isError: true,
        _meta: { 'omicron.dev/code': 'hunter_twenty_two' },
      }),
    );
    await stop();
    const [known, made] = collector.spans();
    const shared = {
      'mcp.method.name': 'tools/call',
      'gen_ai.operation.name': 'execute_tool',
      'network.transport': 'tcp',
      'network.protocol.name': 'http',
    };
    expect(known).toMatchObject({
      name: 'tools/call browser_click',
      traceId: trace,
      parentSpanId: '00f067aa0ba902b7',
      status: 2,
    });
    expect(known?.attributes).toEqual({
      ...shared,
      'mcp.protocol.version': '2025-11-25',
      'gen_ai.tool.name': 'browser_click',
      'error.type': 'browser_action_timeout',
    });
    expect(events[0]).toMatchObject({ trace_id: trace, span_id: known?.spanId, parent_span_id: '00f067aa0ba902b7' });
    expect(made).toMatchObject({ name: 'tools/call', attributes: { ...shared, 'error.type': '_OTHER' } });
    expect(Object.keys(made?.attributes ?? {})).not.toContain('gen_ai.tool.name');
    expect(collector.received()).not.toMatch(/hunter/);
  } finally {
    await stop();
    delete process.env.OTEL_EXPORTER_OTLP_ENDPOINT;
  }
});
