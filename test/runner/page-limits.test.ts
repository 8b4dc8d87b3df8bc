import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ENV } from '../../contract/names.ts';
import { readProcessTree } from '../../process/process-tree.ts';
import { eventually } from '../eventually.ts';
import { type AttackedLease, startAttackedLease } from './attacked-lease.ts';
import { callText } from './start.ts';

const SCRIPTS = {
  'an address of 2 MB': `history.replaceState('', '', '/' + 'x'.repeat(2e6))`,
  // Playwright keeps each request that is not answered, with its body; at 30 a second they never count as a flood,
  // whose limit some 60 a second reach after 17 s, before or after that of memory
  'requests that are kept': `const body = 'x'.repeat(6e4);
    setInterval(() => fetch('/?unanswered', { method: 'POST', body }).catch(() => {}), 33)`,
};

/** The smallest that a runner may have: a lease at rest holds about 90 MiB of it, until garbage is collected. */
const RUNNER_MEMORY_MB = 128;
const startLease = (env: Record<string, string> = {}): Promise<AttackedLease> =>
  startAttackedLease(SCRIPTS, { [ENV.browserMemoryMb]: '1200', ...env });

test('a very long address is shown by its origin, a very long title not at all, and neither costs the tab', async () => {
  await using lease = await startLease();
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

test('renderers are held to a limit by the kernel, and the browser itself is not, which would end with it', async () => {
  await using lease = await startLease();
  await callText(lease.client, 'browser_navigate', { url: lease.site });
  const pid = lease.runner.browserPid();
  const limitOf = (process: number) =>
    /^Max data size\s+(\S+)/m.exec(readFileSync(`/proc/${process}/limits`, 'utf8'))?.[1];
  const renderers = (await readProcessTree(pid)).filter(({ isRenderer }) => isRenderer);
  expect(renderers).not.toEqual([]);
  for (const renderer of renderers) expect(Number(limitOf(renderer.pid))).toBe((1_200 + 384) * 1024 * 1024);
  expect(limitOf(pid)).toBe('unlimited');
});

test("a page that fills the runner's own memory is closed with an explanation and an event, and the lease lives on", {
  timeout: 120_000,
}, async () => {
  await using lease = await startLease({ [ENV.runnerMemoryMb]: String(RUNNER_MEMORY_MB) });
  const url = lease.urlOf('requests that are kept');
  await lease.told(/was closed: it made the runner take/, await callText(lease.client, 'browser_navigate', { url }));
  await lease.expectServed();
  const closed = await eventually('the event', () =>
    lease.controller.events.find(({ data }) => String(data.reason).startsWith('it made the runner take')),
  );
  expect(closed).toMatchObject({ kind: 'page.closed', data: { url: lease.site } });
});
