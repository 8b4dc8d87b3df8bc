import { expect, test } from 'vitest';
import { RUNNER_TRACES_PATH } from '../../contract/names.ts';
import { eventually } from '../eventually.ts';
import { fakeCollector } from '../fakes/collector.ts';
import { startFakeController } from '../fakes/controller.ts';
import { connect, startRunner } from './start.ts';

const [LEASE_TRACE, CALL_TRACE] = ['4bf92f3577b34da6a3ce929d0e0e4736', 'ffffffffffffffffffffffffffffffff'];
const parentOf = (trace: string) => `00-${trace}-00f067aa0ba902b7-01`;

test('events and log lines are in the trace of the lease, and those of a call in its own', async () => {
  await using collector = await fakeCollector();
  const controller = await startFakeController();
  const runner = await startRunner(controller, { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
  const { token, mcpToken } = await controller.assignment(runner);
  const assigned = await fetch(`${runner.url}/assign`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', traceparent: parentOf(LEASE_TRACE) },
    body: JSON.stringify({ token }),
  });
  expect(assigned.status).toBe(200);
  const client = await connect(runner.url, mcpToken);
  await client.callTool({
    name: 'browser_tabs',
    arguments: { action: 'list' },
    _meta: { traceparent: parentOf(CALL_TRACE) },
  });
  const written = (kind: string) => controller.events.find(event => event.kind === kind);
  const data = (kind: string) => written(kind)?.data as { trace_id?: string; span_id?: string } | undefined;
  await eventually('both events', () => written('secrets.loaded') && written('tool.call'));
  await client.close();
  runner.child.kill('SIGTERM');
  await runner.exited;
  const span = (name: string) => collector.spans().find(each => each.name === name);
  const [assignment, call] = [span('POST /assign'), span('tools/call browser_tabs')];
  expect(assignment).toMatchObject({ traceId: LEASE_TRACE });
  expect(call).toMatchObject({ traceId: CALL_TRACE, links: [{ traceId: LEASE_TRACE, spanId: assignment?.spanId }] });
  expect(span('calls')).toMatchObject({ traceId: LEASE_TRACE, links: [{ traceId: CALL_TRACE, spanId: call?.spanId }] });
  expect(data('secrets.loaded')).toMatchObject({ trace_id: LEASE_TRACE, span_id: assignment?.spanId });
  expect(data('tool.call')).toMatchObject({ trace_id: CALL_TRACE, span_id: call?.spanId });
  const lines = runner
    .output()
    .split('\n')
    .filter(line => line.includes('"phase":"leased"'));
  expect(lines.map(line => JSON.parse(line))).toMatchObject([{ trace_id: LEASE_TRACE, span_id: assignment?.spanId }]);
  // The runner's own reports are in no trace, nor is the call with which it warmed up.
  expect(new Set(collector.spans().map(({ traceId }) => traceId))).toEqual(new Set([LEASE_TRACE, CALL_TRACE]));
  await runner.dispose();
  await controller.close();
});

test('a runner that is led to its controller sends its spans there, as its lease, up to the last', async () => {
  const controller = await startFakeController();
  const runner = await startRunner(controller, {
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${controller.url}${RUNNER_TRACES_PATH}`,
  });
  const { token, mcpToken } = await controller.assignment(runner);
  await fetch(`${runner.url}/assign`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', traceparent: parentOf(LEASE_TRACE) },
    body: JSON.stringify({ token }),
  });
  const client = await connect(runner.url, mcpToken);
  const _meta = { traceparent: parentOf(CALL_TRACE) };
  await client.callTool({ name: 'browser_tabs', arguments: { action: 'list' }, _meta });
  await client.close();
  runner.child.kill('SIGTERM');
  await runner.exited;
  expect(controller.spans.map(({ traceId, name }) => [traceId, name]).toSorted()).toEqual([
    [LEASE_TRACE, 'POST /assign'],
    [LEASE_TRACE, 'calls'],
    [CALL_TRACE, 'tools/call browser_tabs'],
  ]);
  expect(runner.output()).not.toContain('spans lost');
  await runner.dispose();
  await controller.close();
});
