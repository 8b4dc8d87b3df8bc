import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { OmicronError } from '../../contract/problem.ts';
import { eventually } from '../eventually.ts';
import { type FakeController, startFakeController } from '../fakes/controller.ts';
import { connect, type RunnerProcess, startRunner } from './start.ts';

// When a lease ends is decided in runner/reporting/lease-clock.ts and tested there with a stepped clock.

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
  const client = await lease(3_000);
  controller.partition();
  const running = client.callTool({ name: 'browser_wait_for', arguments: { time: 20 } });
  await eventually('the end of service', () =>
    client.ping().then(
      () => false,
      () => true,
    ),
  );
  expect(await running).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining('The lease has ended') }],
  });
  expect(await runner.exited).toBe(0);
  expect(runner.output()).toContain('the lease has expired');
});

test('a controller that says that the lease has ended ends the service at once', async () => {
  const client = await lease(20_000);
  controller.failNext('/internal/runner-activity', new OmicronError('lease_superseded', 'over'));
  await client.callTool({ name: 'browser_tabs', arguments: { action: 'list' } }).catch(() => undefined);
  expect(await runner.exited).toBe(0);
  expect(runner.output()).toContain('the controller ended the lease: over');
});
