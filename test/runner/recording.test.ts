import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ENV } from '../../contract/names.ts';
import { UPLOAD_ORDER_FILE, uploadOrder } from '../../contract/reports.ts';
import { eventually } from '../eventually.ts';
import {
  coloursIn,
  expectPlayable,
  isDrawn,
  on,
  probe,
  recordForEachTest,
  upload,
  useBrowser,
  videos,
} from './recorded.ts';
import { callText, connect, startRunner } from './start.ts';

recordForEachTest();

/** Lines of small letters and of single pixels: in a picture that was made larger they are soft. */
const SMALL_PRINT = `() => { document.body.innerHTML = '<div style="font:11px/13px sans-serif">' + Array.from({ length: 70 }, (_, n) =>
  'Row ' + n + ': lorem ipsum dolor sit amet, consectetur adipiscing elit '.repeat(4) + '<br>').join('') + '</div>'; return 1 }`;

/** Likeness of the last picture of a video and a screenshot, up to 1. */
function likenessOf(path: string, screenshot: Buffer): number {
  const shot = join(on.store, 'shot.png');
  writeFileSync(shot, screenshot);
  const last = join(on.store, 'last.png');
  execFileSync('ffmpeg', ['-v', 'error', '-y', '-sseof', '-1', '-i', path, '-update', '1', last]);
  const { stderr } = spawnSync('ffmpeg', ['-i', last, '-i', shot, '-lavfi', 'ssim', '-f', 'null', '-'], {
    encoding: 'utf8',
  });
  return Number(/All:([\d.]+)/.exec(stderr)?.[1]);
}

test('a picture of the video is as sharp as a screenshot, letters of 11 pixels too', async () => {
  const { token, mcpToken } = await on.controller.assignment(on.runner, { recordVideo: true, keepPages: 'none' });
  await on.runner.post('/assign', { token });
  const client = await connect(on.runner.url, mcpToken);
  await callText(client, 'browser_navigate', { url: on.site.url });
  await callText(client, 'browser_evaluate', { function: SMALL_PRINT });
  const { content } = await client.callTool({ name: 'browser_take_screenshot', arguments: { type: 'png' } });
  const picture = (content as { type: string; data?: string }[]).find(({ type }) => type === 'image'); // the tool-result shape of the protocol
  await callText(client, 'browser_wait_for', { time: 3 });
  await client.close();
  on.runner.child.kill('SIGTERM');
  await on.runner.exited;
  const [path = ''] = videos(on.runner.outputDir);
  expect(likenessOf(path, Buffer.from(picture?.data ?? '', 'base64'))).toBeGreaterThan(0.97);
});

test('[O12] SIGTERM: the recording is finalised at 1920x1080, as long as the session was, then the process exits', async () => {
  const { seconds } = await useBrowser();
  on.runner.child.kill('SIGTERM');
  // 1 would mean that the shutdown took more than its 10 s.
  expect(await on.runner.exited).toBe(0);
  expectPlayable(videos(on.runner.outputDir)[0], seconds - 1.5);
});

test('a drain order: the recording is finalised, then the process exits', async () => {
  const { seconds } = await useBrowser();
  await on.runner.post('/drain', { token: await on.controller.drainOrder(on.runner) });
  expect(await on.runner.exited).toBe(0);
  expectPlayable(videos(on.runner.outputDir)[0], seconds - 1.5);
});

/** Leases the on.runner, opens a second tab, and closes it when its video has begun. */
async function closeSecondTab(): Promise<void> {
  const { token, mcpToken } = await on.controller.assignment(on.runner, { recordVideo: true });
  await on.runner.post('/assign', { token });
  const client = await connect(on.runner.url, mcpToken);
  await callText(client, 'browser_navigate', { url: on.site.url });
  await callText(client, 'browser_tabs', { action: 'new', url: `${on.site.url}/animated` });
  const second = join(on.runner.outputDir, 'tab-002.webm');
  await eventually('its first picture', () => existsSync(second) && statSync(second).size > 0);
  await callText(client, 'browser_tabs', { action: 'close' });
  await client.close();
}

test('every tab has a file of its own', async () => {
  await closeSecondTab();
  on.runner.child.kill('SIGTERM');
  await on.runner.exited;
  const files = videos(on.runner.outputDir);
  expect(files).toHaveLength(2);
  for (const file of files) expect(probe(file).pictures).toBeGreaterThan(1);
  // The first tab never showed the page of the second.
  expect(coloursIn(files[0] ?? '').filter(isDrawn)).toEqual([]);
});

test('the end waits for the file of a tab that was closed right before', async () => {
  const slow = join(on.store, 'slow-ffmpeg');
  const late = 'case $file in *tab-002*) sleep 0.4;; esac';
  const script = [
    '#!/bin/sh',
    `PATH='${process.env.PATH}'`,
    'ffmpeg "$@"',
    'for file; do :; done',
    late,
    ': >"$file.ended"',
  ];
  writeFileSync(slow, script.join('\n'), { mode: 0o755 });
  await on.runner.dispose();
  on.runner = await startRunner(on.controller, { [ENV.ffmpegPath]: slow });
  await closeSecondTab();
  on.runner.child.kill('SIGTERM');
  await on.runner.exited;
  expect(readdirSync(on.runner.outputDir)).toEqual(
    expect.arrayContaining(['tab-001.webm.ended', 'tab-002.webm.ended']),
  );
});

test('record_video: false records nothing and, where no page is kept, leaves nothing to upload', async () => {
  await useBrowser(false);
  on.runner.child.kill('SIGTERM');
  expect(await on.runner.exited).toBe(0);
  expect(readdirSync(on.runner.outputDir)).toEqual([]);
  await upload();
  expect(on.controller.artifacts).toEqual([]);
});

test('the upload order is there before the first frame, readable by its owner only', async () => {
  const { token } = await on.controller.assignment(on.runner, { recordVideo: true });
  await on.runner.post('/assign', { token });
  await eventually('a video file', () => videos(on.runner.outputDir)[0]);
  const path = join(on.runner.outputDir, UPLOAD_ORDER_FILE);
  expect(existsSync(path)).toBe(true);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  // The browser's credential stays in the runner's memory; the uploader has its own.
  const order = uploadOrder.parse(JSON.parse(readFileSync(path, 'utf8')));
  expect(order.upload_credential).toBe(on.controller.uploadCredential);
  expect(JSON.stringify(order)).not.toContain(on.controller.egressCredential);
});
