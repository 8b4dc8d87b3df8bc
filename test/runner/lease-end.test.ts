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

async function lease(remainingMs: number): Promise<{ client: Client; mcpToken: string }> {
  controller.remainingMs = remainingMs;
  const { token, mcpToken } = await controller.assignment(runner);
  expect((await runner.post('/assign', { token })).status).toBe(200);
  return { client: await connect(runner.url, mcpToken), mcpToken };
}

/** The end of a call's connection, as its answer says it. */
async function connectionAfterCall(mcpToken: string): Promise<string | null> {
  const params = { name: 'browser_tabs', arguments: { action: 'list' } };
  const response = await fetch(`${runner.url}/mcp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${mcpToken}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
  });
  await response.text();
  return response.headers.get('connection');
}

test('hole 1: a runner cut off from its controller closes by itself at its deadline, under a running call too', async () => {
  const { client } = await lease(3_000);
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

test('a controller that says that the lease has ended ends the service at once: no connection is kept from then on', async () => {
  const { client, mcpToken } = await lease(20_000);
  expect(await connectionAfterCall(mcpToken)).toBe('keep-alive');
  controller.failNext('/internal/runner-activity', new OmicronError('lease_superseded', 'over'));
  await client.callTool({ name: 'browser_tabs', arguments: { action: 'list' } }).catch(() => undefined);
  await eventually('an answer closes its connection', async () => (await connectionAfterCall(mcpToken)) === 'close');
  expect(await runner.exited).toBe(0);
  expect(runner.output()).toContain('the controller ended the lease: over');
});
