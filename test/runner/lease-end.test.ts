import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { OmicronError } from '../../contract/problem.ts';
import { nextReportMs } from '../../runner/reporting/lease-clock.ts';
import { type FakeController, startFakeController } from '../fakes/controller.ts';
import { callText, connect, type RunnerProcess, startRunner, until } from './start.ts';

let controller: FakeController;
let runner: RunnerProcess;
beforeEach(async () => {
  controller = await startFakeController();
  runner = await startRunner(controller);
});
afterEach(async () => {
  await runner.dispose();
  await controller.close();
});

async function lease(remainingMs: number): Promise<Client> {
  controller.remainingMs = remainingMs;
  const { token, mcpToken } = await controller.assignment(runner);
  expect((await runner.post('/assign', { token })).status).toBe(200);
  return connect(runner.url, mcpToken);
}

test('hole 1: a runner cut off from its controller closes by itself at its deadline, under a running call too', async () => {
  const startedMs = performance.now();
  const client = await lease(4_000);
  controller.partition();
  const running = client.callTool({ name: 'browser_wait_for', arguments: { time: 20 } }).catch(() => 'closed');
  expect(await callTextOrClosed(client)).toBe('closed');
  await running;
  expect(await runner.exited).toBe(0);
  const seconds = (performance.now() - startedMs) / 1_000;
  expect(seconds).toBeGreaterThan(2);
  // Serving ends before the lease does; the rest is finalising.
  expect(seconds).toBeLessThan(9);
  expect(runner.output()).toContain('the lease has expired');
});

/** Calls until the runner refuses or is gone. */
const callTextOrClosed = (client: Client) =>
  until('the end of service', () =>
    client.ping().then(
      () => undefined,
      () => 'closed',
    ),
  );

test('every answer of the controller moves the deadline: a lease kept alive by calls lives on', async () => {
  const client = await lease(3_000);
  const startMs = performance.now();
  while (performance.now() - startMs < 6_000) await callText(client, 'browser_wait_for', { time: 0.3 });
  expect((await runner.health()).body.phase).toBe('leased');
  expect(controller.activity.reduce((sum, { calls }) => sum + calls, 0)).toBeGreaterThan(5);
  controller.remainingMs = 0;
  expect(await runner.exited).toBe(0);
});

test('hole 20: a call that runs longer than the lease has left counts as activity', async () => {
  const client = await lease(3_000);
  await callText(client, 'browser_wait_for', { time: 6 });
  expect((await runner.health()).body.phase).toBe('leased');
  expect(controller.activity.filter(({ calls }) => calls > 0).length).toBeGreaterThan(2);
  await client.close();
});

test('an idle runner asks without claiming calls, so that a heartbeat of the API is noticed', async () => {
  const client = await lease(5_000);
  await client.close();
  const before = controller.activity.length;
  controller.remainingMs = 600_000;
  await until('a question', () => controller.activity.length > before || undefined);
  expect(controller.activity.at(-1)?.calls).toBe(0);
  await until(
    'the old deadline',
    () => performance.now() > (controller.activity.at(-1)?.atMs ?? 0) + 5_000 || undefined,
  );
  expect((await runner.health()).body.phase).toBe('leased');
});

test('an outage shorter than the lease is survived: reports are repeated', async () => {
  const client = await lease(8_000);
  controller.partition();
  await callText(client, 'browser_tabs', { action: 'list' });
  const before = controller.activity.length;
  await until('two seconds', () => performance.now() > startMs + 2_000 || undefined);
  controller.heal();
  const report = await until('the report', () => controller.activity.slice(before).find(({ calls }) => calls > 0));
  expect(report.calls).toBe(1);
  await client.close();
});
const startMs = performance.now();

test.each(['lease_superseded', 'lease_ended', 'unauthorized', 'session_not_found'] as const)(
  'a controller that answers %s ends the service at once',
  async code => {
    const client = await lease(8_000);
    controller.failNext('/internal/runner-activity', new OmicronError(code, 'over'));
    await client.callTool({ name: 'browser_tabs', arguments: { action: 'list' } }).catch(() => undefined);
    expect(await runner.exited).toBe(0);
    expect(runner.output()).toContain('the controller says: over');
  },
);

test('reports are due every 15 s, at once when under 30 s are left and there were calls', () => {
  const at = (leftMs: number, calls: number, sinceMs = 0) =>
    nextReportMs({ now: 0, sentMs: -sinceMs, deadlineMs: leftMs, calls });
  expect(at(600_000, 5)).toBe(15_000);
  expect(at(600_000, 0)).toBe(15_000);
  expect(at(40_000, 0)).toBe(10_000);
  expect(at(29_000, 1, 5_000)).toBeLessThanOrEqual(0);
  expect(at(29_000, 1)).toBe(500);
  expect(at(29_000, 0)).toBe(14_500);
  expect(at(2_000, 0)).toBe(1_000);
});
