import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Site, startSite } from '../site/site.ts';
import { callText } from './start.ts';
import { type LeasedRunner, startLease } from './start-lease.ts';

let site: Site;
let lease: LeasedRunner;
beforeAll(async () => {
  site = await startSite();
  lease = await startLease({ snapshot: 'none' });
});
afterAll(async () => {
  await lease[Symbol.asyncDispose]();
  await site.close();
});

const navigate = (args = {}) => callText(lease.client, 'browser_navigate', { url: `${site.url}/`, ...args });

test('a lease without snapshots shows a page where a call asks for it', async () => {
  expect(await navigate()).not.toContain('Welcome.');
  expect(await navigate({ snapshot: 'full' })).toContain('Welcome.');
  expect(await navigate()).not.toContain('Welcome.');
  expect(await callText(lease.client, 'browser_snapshot')).toContain('Welcome.');
});

test('a snapshot that there is not is refused before the call runs', async () => {
  await navigate();
  const answer = await callText(lease.client, 'browser_navigate', { url: `${site.url}/login`, snapshot: 'some' });
  expect(answer).toContain('changes');
  expect(await callText(lease.client, 'browser_snapshot')).toContain('Welcome.');
});

test('agents are informed of it', () => {
  expect(lease.client.getInstructions()).toContain('snapshot ("none"');
});
