import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { ENV } from '../../contract/names.ts';
import { type FakeController, startFakeController } from '../fakes/controller.ts';
import { BEHAVIOURS, type BehaviourSite, startBehaviourSite } from '../site/behaviours.ts';
import { callText, connect, type RunnerProcess, startRunner } from './start.ts';

let site: BehaviourSite;
let controller: FakeController;
let runner: RunnerProcess;
let client: Client;
beforeAll(async () => {
  site = await startBehaviourSite();
  controller = await startFakeController();
  runner = await startRunner(controller, { [ENV.toolset]: 'playwright' });
  const { token, mcpToken } = await controller.assignment(runner, { recordVideo: false });
  await runner.post('/assign', { token });
  client = await connect(runner.url, mcpToken);
});
afterAll(async () => {
  await client?.close();
  await runner?.dispose();
  await controller?.close();
  site?.close();
});

beforeEach(() => callText(client, 'browser_close'));

test.each(Object.entries(BEHAVIOURS))('the result shows what the page answers: %s', async (name, { tool, shows }) => {
  const arrived = await callText(client, 'browser_navigate', { url: site.url(name) });
  const result = tool === undefined ? arrived : await callText(client, ...tool);
  expect(result).toMatch(shows);
  await callText(client, 'browser_handle_dialog', { accept: true });
});
