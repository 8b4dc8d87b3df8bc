import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ENV } from '../../contract/names.ts';
import { runnerTempDir } from '../../runner/browser/temp-dir.ts';
import { eventually } from '../eventually.ts';
import { type FakeController, startFakeController } from '../fakes/controller.ts';
import { callText, connect, type RunnerProcess, startRunner } from './start.ts';

let controller: FakeController;
let runner: RunnerProcess;
beforeEach(async () => {
  controller = await startFakeController();
});
afterEach(async () => {
  await runner.dispose();
  await controller.close();
});

interface Process {
  readonly pid: number;
  readonly command: string;
  readonly status: string;
}

const read = (path: string): string => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
};

/** All processes below this one, and itself. */
function tree(root: number): Process[] {
  const all = readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .map(pid => ({
      pid: Number(pid),
      command: read(`/proc/${pid}/cmdline`).replaceAll('\0', ' '),
      status: read(`/proc/${pid}/status`),
    }));
  const found = new Set([root]);
  for (let size = 0; size !== found.size; ) {
    size = found.size;
    for (const { pid, status } of all) if (found.has(Number(/PPid:\s(\d+)/.exec(status)?.[1]))) found.add(pid);
  }
  return all.filter(({ pid }) => found.has(pid));
}

test("Chromium's sandbox is on: no --no-sandbox, renderers under seccomp in a user namespace, none of it root", async () => {
  runner = await startRunner(controller);
  const processes = tree(runner.browserPid());
  const renderers = processes.filter(({ command }) => command.includes('--type=renderer'));
  expect(renderers.length).toBeGreaterThan(0);
  for (const { command, status } of processes) {
    expect(command).not.toContain('--no-sandbox');
    expect(status).not.toMatch(/^Uid:\t0/m);
  }
  for (const { status, pid } of renderers) {
    expect(status).toMatch(/^Seccomp:\t2$/m);
    // In a process-id namespace of its own: the process has a second id.
    expect(status).toMatch(new RegExp(`^NSpid:\\t${pid}\\t\\d+`, 'm'));
  }
});

test('features that Playwright or the runner turns off in Chromium are off: Chromium takes the last such flag alone', async () => {
  runner = await startRunner(controller);
  const command = tree(runner.browserPid()).find(({ command }) => command.includes('--disable-features='))?.command;
  const off = [...(command ?? '').matchAll(/--disable-features=(\S+)/g)].at(-1)?.[1]?.split(',');
  expect(off).toEqual(expect.arrayContaining(['ThirdPartyStoragePartitioning', 'HttpsUpgrades', 'PaintHolding']));
  expect(off).toEqual(
    expect.arrayContaining(['RenderDocument', 'CDPScreenshotNewSurface', 'WebRtcHideLocalIpsWithMdns']),
  );
});

test('the first page has nothing of the warm-up: no history, no cookie, no storage, and the blank page before it', async () => {
  runner = await startRunner(controller);
  const { token, mcpToken } = await controller.assignment(runner);
  await runner.post('/assign', { token });
  const client = await connect(runner.url, mcpToken);
  const evaluate = async (code: string) =>
    (await callText(client, 'browser_evaluate', { function: code })).split('\n')[1];
  expect(await evaluate('() => [history.length, location.href, document.documentElement.outerHTML].join()')).toBe(
    '"1,about:blank,<html><head></head><body></body></html>"',
  );
  const site = createServer((_request, response) => response.end('<title>First</title>'));
  await new Promise<void>(resolve => site.listen(0, '127.0.0.1', resolve));
  const { port } = site.address() as AddressInfo; // it listens on TCP
  await callText(client, 'browser_navigate', { url: `http://127.0.0.1:${port}/` });
  expect(await evaluate('() => [history.length, document.cookie, localStorage.length, document.referrer].join()')).toBe(
    '"2,,0,"',
  );
  expect(await callText(client, 'browser_navigate_back')).toContain('about:blank');
  await client.close();
  site.close();
});

test('[S10] a runner whose sandbox cannot run has failed, says what to do, and starts nothing without it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'omicron-test-browser-'));
  const browser = join(folder, 'browser');
  // Chromium's output where user namespaces are closed: <https://crbug.com/638180>.
  const words = 'FATAL:zygote_host_impl_linux.cc(127)] No usable sandbox! See crbug.com/638180.';
  writeFileSync(browser, `#!/bin/sh\necho '${words}' >&2\nexit 1\n`, { mode: 0o755 });
  chmodSync(folder, 0o755);
  runner = await startRunner(controller, { [ENV.chromiumPath]: browser }, 'failed');
  const { status, body } = await runner.health();
  expect([status, body.error?.code]).toEqual([503, 'sandbox_runtime_required']);
  const { token } = await controller.assignment(runner);
  const answer = await runner.post('/assign', { token });
  expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([503, 'sandbox_runtime_required']);
  expect(body.error?.detail).toMatch(/user namespaces.*No usable sandbox/s);
  expect(body.error?.detail).not.toContain('OMICRON_CHROMIUM_SANDBOX');
  rmSync(folder, { recursive: true });
});

test('a warm browser that is killed is a crash, shown at /healthz and to an assignment', async () => {
  runner = await startRunner(controller);
  const { token } = await controller.assignment(runner);
  process.kill(runner.browserPid(), 'SIGKILL');
  const { status, body } = await eventually('the runner has failed', async () => {
    const health = await runner.health();
    return health.body.phase === 'failed' && health;
  });
  expect([status, body.error]).toEqual([
    503,
    { code: 'browser_crashed', detail: 'The browser process exited. Request a new lease; it gets a new browser.' },
  ]);
  const answer = await runner.post('/assign', { token });
  expect(answer.status).toBe(503);
  expect(await answer.json()).toMatchObject({
    code: 'browser_crashed',
    title: 'Browser crashed',
    detail: body.error?.detail,
  });
  expect(controller.redemptions).toBe(0);
  expect(await runner.exited).toBe(1);
});

test('the opt-out is explicit and loud', async () => {
  runner = await startRunner(controller, { [ENV.chromiumSandbox]: 'off' });
  expect(tree(runner.browserPid()).some(({ command }) => command.includes('--no-sandbox'))).toBe(true);
  expect(runner.output()).toContain('WITHOUT its sandbox');
});

test.each(['SIGTERM', 'SIGINT'] as const)('%s leaves nothing behind: no process, no folder', async signal => {
  runner = await startRunner(controller);
  const { token, mcpToken } = await controller.assignment(runner, { recordVideo: true });
  await runner.post('/assign', { token });
  const client = await connect(runner.url, mcpToken);
  await client.callTool({ name: 'browser_navigate', arguments: { url: 'data:text/html,hello' } });
  const processes = tree(runner.child.pid ?? 0);
  expect(processes.length).toBeGreaterThan(5);
  runner.child.kill(signal);
  expect(await runner.exited).toBe(0);
  for (const { pid } of processes) expect(read(`/proc/${pid}/cmdline`)).toBe('');
  expect(readdirSync(tmpdir()).filter(name => name.includes(runner.runnerId))).toEqual([]);
});

test('a browser that hangs is killed, and the runner still ends in time', async () => {
  runner = await startRunner(controller);
  const { token } = await controller.assignment(runner, { recordVideo: true });
  await runner.post('/assign', { token });
  const processes = tree(runner.browserPid());
  for (const { pid } of processes) process.kill(pid, 'SIGSTOP');
  runner.child.kill('SIGTERM');
  // 1 would mean that the shutdown took more than its 10 s.
  expect(await runner.exited).toBe(0);
  for (const { pid } of processes) expect(read(`/proc/${pid}/cmdline`)).toBe('');
});

test('kill -9 of the runner takes its browser along, and the next runner deletes its folder', async () => {
  runner = await startRunner(controller);
  const processes = tree(runner.browserPid());
  expect(existsSync(runnerTempDir(runner.runnerId))).toBe(true); // while it lives: any runner of this machine may be the next
  runner.child.kill('SIGKILL');
  await runner.exited;
  await eventually('the browser is gone', () => processes.every(({ pid }) => read(`/proc/${pid}/cmdline`) === ''));
  const next = await startRunner(controller);
  const left = existsSync(runnerTempDir(runner.runnerId));
  const own = existsSync(runnerTempDir(next.runnerId));
  await next.dispose();
  expect([left, own]).toEqual([false, true]);
});
