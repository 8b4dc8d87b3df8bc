import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { ENV } from '../../contract/names.ts';
import { eventually } from '../eventually.ts';
import { type AttackedLease, startAttackedLease } from './attacked-lease.ts';
import { callText } from './start.ts';

const SCRIPTS = {
  'an address of 2 MB': `history.replaceState('', '', '/' + 'x'.repeat(2e6))`,
  // Playwright keeps each request that is not answered, with its body; at 60 a second they are no flood
  'requests that are kept': `const body = 'x'.repeat(6e4);
    setInterval(() => fetch('/?unanswered', { method: 'POST', body }).catch(() => {}), 16)`,
};

let lease: AttackedLease;
beforeAll(async () => {
  lease = await startAttackedLease(SCRIPTS, { [ENV.browserMemoryMb]: '1200', [ENV.runnerMemoryMb]: '160' });
});
afterEach(() => callText(lease.client, 'browser_close'));
afterAll(() => lease?.[Symbol.asyncDispose]());

test('a very long address is told by its origin, a very long title not at all, and neither costs the tab', async () => {
  const url = lease.urlOf('an address of 2 MB');
  const answers = [
    await callText(lease.client, 'browser_navigate', { url }), // it may have moved already
    await callText(lease.client, 'browser_wait_for', { time: 1 }),
  ].join('\n');
  expect(answers).toContain(`- Page URL: ${lease.site}/… (an address of ${lease.site.length + 2_000_001} characters)`);
  await callText(lease.client, 'browser_evaluate', { function: `() => { document.title = 'x'.repeat(5e6) }` });
  const told = await callText(lease.client, 'browser_tabs', { action: 'list' });
  expect(told).toContain('… (a title of more than 1000 characters)');
  expect(told).not.toContain('was closed');
});

test("a page that fills the runner's own memory is closed with an explanation and an event, and the lease lives on", {
  timeout: 120_000,
}, async () => {
  const url = lease.urlOf('requests that are kept');
  await lease.told(/was closed: it made the runner take/, await callText(lease.client, 'browser_navigate', { url }));
  await lease.expectServed();
  const closed = await eventually('the event', () =>
    lease.controller.events.find(({ data }) => String(data.reason).startsWith('it made the runner take')),
  );
  expect(closed).toMatchObject({ kind: 'page.closed', data: { url: lease.site } });
});
