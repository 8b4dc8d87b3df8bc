import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { BEHAVIOURS, type BehaviourSite, startBehaviourSite } from '../site/behaviours.ts';
import { callText } from './start.ts';
import { type LeasedRunner, startLease } from './start-lease.ts';

let site: BehaviourSite;
let lease: LeasedRunner;
beforeAll(async () => {
  site = await startBehaviourSite();
  lease = await startLease({ toolset: 'playwright', recordVideo: false });
});
afterAll(async () => {
  await lease?.[Symbol.asyncDispose]();
  site?.close();
});

beforeEach(() => callText(lease.client, 'browser_close'));

test.each(Object.entries(BEHAVIOURS))('the result shows what the page answers: %s', async (name, { tool, shows }) => {
  const arrived = await callText(lease.client, 'browser_navigate', { url: site.url(name) });
  const result = tool === undefined ? arrived : await callText(lease.client, ...tool);
  expect(result).toMatch(shows);
  await callText(lease.client, 'browser_handle_dialog', { accept: true });
});
