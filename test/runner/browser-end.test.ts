import { afterEach, beforeEach, expect, test } from 'vitest';
import { ENV } from '../../contract/names.ts';
import { eventually } from '../eventually.ts';
import { type LeasedRunner, startLease } from './start-lease.ts';

let lease: LeasedRunner;
beforeEach(async () => {
  lease = await startLease({ recordVideo: false, env: { [ENV.browserMemoryMb]: '700' } });
});
afterEach(() => lease[Symbol.asyncDispose]());

/** The line of the runner's log about the end of its browser. */
const endLogged = () =>
  eventually('the line of the log', () => {
    const line = lease.runner
      .output()
      .split('\n')
      .find(each => each.includes('"browser ended"'));
    return line !== undefined && JSON.parse(line);
  });

test('a browser that dies leaves its signal in the log and on the timeline', async () => {
  process.kill(lease.runner.browserPid(), 'SIGSEGV');
  expect(await endLogged()).toMatchObject({ level: 50, exit: 'SIGSEGV', stopped: [], lines: expect.any(Array) });
  const crash = await eventually('the event', () =>
    lease.controller.events.find(({ kind }) => kind === 'browser.crashed'),
  );
  expect(crash.data).toEqual({ detail: 'the browser process ended', exit: 'SIGSEGV', stopped: [] });
});

test('the decisions of the memory guard stand in the log when the browser dies after them, and no text of a page does', async () => {
  const PAGE_TEXT = 'hunter2-of-a-page';
  const FORGED = `x\\n[1126/234433.278597:ERROR:x.cc:1] ${PAGE_TEXT}`;
  const script = `console.error('${FORGED}'); const kept = []; setInterval(() => kept.push(new Uint8Array(2e7).fill(1)), 20)`;
  await lease.client.callTool({
    name: 'browser_navigate',
    arguments: { url: `data:text/html,<script>${encodeURIComponent(script)}</script>` },
  });
  await eventually(
    'the tab to be closed',
    () => lease.controller.events.find(({ kind }) => kind === 'page.closed'),
    60_000,
  );
  process.kill(lease.runner.browserPid(), 'SIGKILL');
  const { exit, stopped, lines } = await endLogged();
  expect(exit).toBe('SIGKILL');
  expect(stopped).toContainEqual(expect.stringMatching(/Z renderer \d+: .* MiB/));
  expect(JSON.stringify([stopped, lines])).not.toContain(PAGE_TEXT);
});

test('a browser that is closed with its lease is no error', async () => {
  await lease.runner.post('/drain', { token: await lease.controller.drainOrder(lease.runner) });
  expect(await lease.runner.exited).toBe(0);
  expect(lease.runner.output()).not.toMatch(/"level":50.*"browser ended"/);
  expect(lease.controller.events.map(({ kind }) => kind)).not.toContain('browser.crashed');
});
