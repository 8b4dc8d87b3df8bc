import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Site, startSite } from '../site/site.ts';
import { type StandIn, startStandIn } from './controller.ts';
import { callText, connect, type RunnerProcess, startRunner } from './start.ts';

let site: Site;
let controller: StandIn;
let runner: RunnerProcess;
beforeAll(async () => {
  site = await startSite();
});
afterAll(() => site.close());
beforeEach(async () => {
  controller = await startStandIn();
  runner = await startRunner(controller);
});
afterEach(async () => {
  await runner.dispose();
  await controller.close();
});

test('a warm runner is assigned, serves MCP, drains and exits', async () => {
  const { token, mcpToken } = await controller.assignment(runner, { recordVideo: true });
  const answer = await runner.post('/assign', { token });
  expect(answer.status).toBe(200);
  const client = await connect(runner.url, mcpToken);
  const text = await callText(client, 'browser_navigate', { url: `${site.url}/login` });
  expect(text).toContain('Password');
  await runner.post('/drain', { token: await controller.drainOrder(runner) });
  expect(await runner.exited).toBe(0);
});
