import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { eventually } from '../eventually.ts';
import { expectPlayable, on, recordForEachTest, upload, useBrowser, videos } from './recorded.ts';
import { callText, connect } from './start.ts';

recordForEachTest();

test('kill -9 of the browser: the recording is finalised, agents learn of it, the crash is on the timeline', async () => {
  const { token, mcpToken } = await on.controller.assignment(on.runner, { recordVideo: true });
  await on.runner.post('/assign', { token });
  const client = await connect(on.runner.url, mcpToken);
  await callText(client, 'browser_navigate', { url: `${on.site.url}/animated` });
  await callText(client, 'browser_wait_for', { time: 1.5 });
  const running = client.callTool({ name: 'browser_wait_for', arguments: { time: 20 } });
  process.kill(on.runner.browserPid(), 'SIGKILL');
  expect(JSON.stringify(await running)).toContain('browser_crashed');
  const after = await client.callTool({ name: 'browser_navigate', arguments: { url: on.site.url } });
  expect(after.isError).toBe(true);
  expect(JSON.stringify(after)).toContain('browser_crashed');
  // A killed process is there until the kernel has freed its memory.
  const { status, body } = await eventually('the gate of the process to shut', async () => {
    const health = await on.runner.health();
    return health.body.browser.process.ok ? undefined : health;
  });
  expect([status, body.phase, body.error?.code]).toEqual([503, 'failed', 'browser_crashed']);
  await client.close();
  expect(await on.runner.exited).toBe(1);
  const crash = on.controller.events.find(({ kind }) => kind === 'browser.crashed');
  expect(crash?.data).toEqual({ detail: 'the browser process ended', exit: 'SIGKILL', stopped: [] });
  expectPlayable(videos(on.runner.outputDir)[0], 1, 'moving');
});

test('kill -9 of the whole runner: the encoder finalises what it has, and the uploader sends it', async () => {
  const { sessionId, seconds } = await useBrowser();
  on.runner.child.kill('SIGKILL');
  await on.runner.exited;
  await upload();
  const [stored, ...more] = videos(on.store);
  expect(more).toEqual([]);
  expect(stored).toBe(join(on.store, `pw-videos/test/${sessionId}/1-${on.runner.runnerId}/tab-001.webm`));
  expectPlayable(stored, seconds - 2.5);
  expect(on.controller.artifacts).toEqual([
    {
      state: 'stored',
      name: 'tab-001.webm',
      uri: pathToFileURL(stored ?? '').href,
      bytes: statSync(stored ?? '').size,
    },
  ]);
  expect(readdirSync(on.runner.outputDir)).toEqual([]);
});

test('kill -9 of the encoder too: what was seen until a moment before can be played', async () => {
  const { seconds } = await useBrowser();
  const encoders = readdirSync('/proc').filter(pid => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(join(on.runner.outputDir, 'tab-001.webm'));
    } catch {
      return false;
    }
  });
  expect(encoders).toHaveLength(1);
  for (const pid of encoders) process.kill(Number(pid), 'SIGKILL');
  await eventually('the event', () => on.controller.events.find(({ kind }) => kind === 'recording.stopped'));
  on.runner.child.kill('SIGKILL');
  await on.runner.exited;
  expectPlayable(videos(on.runner.outputDir)[0], seconds / 4, 'either'); // a killed encoder takes its buffer along
});
