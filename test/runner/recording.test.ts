import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { ENV, RUNNER_COMMAND } from '../../contract/names.ts';
import { UPLOAD_ORDER_FILE, uploadOrder } from '../../contract/reports.ts';
import { eventually } from '../eventually.ts';
import { type FakeController, startFakeController } from '../fakes/controller.ts';
import { type Site, startSite } from '../site/site.ts';
import { callText, connect, type RunnerProcess, startRunner } from './start.ts';

let site: Site;
let controller: FakeController;
let runner: RunnerProcess;
let store: string;
beforeAll(async () => {
  site = await startSite();
});
afterAll(() => site.close());
beforeEach(async () => {
  controller = await startFakeController();
  runner = await startRunner(controller);
  store = mkdtempSync(join(tmpdir(), 'omicron-test-store-'));
});
afterEach(async () => {
  await runner.dispose();
  await controller.close();
  rmSync(store, { recursive: true, force: true });
});

/** Leases the runner, looks at a moving page for a while, and returns for how long it did. */
async function useBrowser(recordVideo = true): Promise<{ sessionId: string; seconds: number }> {
  const { token, mcpToken, sessionId } = await controller.assignment(runner, { recordVideo, keepPages: 'none' });
  const startMs = performance.now();
  expect((await runner.post('/assign', { token })).status).toBe(200);
  const client = await connect(runner.url, mcpToken);
  await callText(client, 'browser_navigate', { url: `${site.url}/animated` });
  await callText(client, 'browser_wait_for', { time: 1.5 });
  // A page that stands still lasts, too.
  await callText(client, 'browser_navigate', { url: site.url });
  await callText(client, 'browser_wait_for', { time: 3 });
  const seconds = (performance.now() - startMs) / 1_000;
  await client.close().catch(() => undefined);
  return { sessionId, seconds };
}

const videos = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.webm'))
    .map(name => join(folder, name))
    .sort();

/** The decoder's answer: every picture is decoded. */
function probe(path: string): { codec: string; width: number; height: number; pictures: number; seconds: number } {
  const run = (...args: string[]) => execFileSync('ffprobe', ['-v', 'error', ...args, '-of', 'json', path]).toString();
  // ffprobe's documented JSON
  const { streams, packets } = JSON.parse(
    run('-count_frames', '-show_entries', 'stream=codec_name,width,height,nb_read_frames:packet=pts_time'),
  ) as {
    streams: { codec_name: string; width: number; height: number; nb_read_frames: string }[];
    packets: { pts_time: string }[];
  };
  const [stream] = streams;
  if (stream === undefined) throw new Error(`no video in ${path}`);
  const times = packets.map(packet => Number(packet.pts_time));
  return {
    codec: stream.codec_name,
    width: stream.width,
    height: stream.height,
    pictures: Number(stream.nb_read_frames),
    seconds: Math.max(...times),
  };
}

type Colour = readonly number[];

/** The colour of every picture at a place where /animated draws and no other page does. */
function coloursIn(path: string): Colour[] {
  const filters = 'crop=8:8:300:200,scale=1:1';
  const args = [
    '-v',
    'error',
    '-i',
    path,
    '-vf',
    filters,
    '-fps_mode',
    'passthrough',
    '-f',
    'rawvideo',
    '-pix_fmt',
    'rgb24',
  ];
  const bytes = execFileSync('ffmpeg', [...args, '-']);
  return Array.from({ length: bytes.length / 3 }, (_, n) => [...bytes.subarray(3 * n, 3 * n + 3)]);
}

const isDrawn = (colour: Colour): boolean => Math.max(...colour) - Math.min(...colour) > 60;

/** `last`: the page that the last picture shows. */
function expectPlayable(path = 'no file', secondsMin = 0, last: 'still' | 'moving' | 'either' = 'still'): void {
  const colours = coloursIn(path);
  const drawn = colours.filter(isDrawn).map(String);
  expect(new Set(drawn).size, `pictures of the moving page among ${colours.join(' ')}`).toBeGreaterThan(1);
  if (last !== 'either') expect(colours.slice(-1).map(isDrawn)).toEqual([last === 'moving']);
  const video = probe(path);
  expect(video).toMatchObject({ codec: 'vp8', width: 1920, height: 1080 });
  // A busy machine records fewer frames, for the same time.
  expect(video.pictures).toBeGreaterThan(2);
  expect(video.seconds).toBeGreaterThan(secondsMin);
  expect(video.seconds).toBeLessThan(secondsMin + 12);
}

/** Runs the uploader as it runs beside a real runner; rejects unless it exits with 0. */
const upload = () =>
  promisify(execFile)(process.execPath, [RUNNER_COMMAND.uploaderMain, '--once'], {
    timeout: 20_000,
    env: {
      [ENV.controllerUrl]: controller.url,
      [ENV.outputDir]: runner.outputDir,
      [ENV.artifactStore]: pathToFileURL(store).href,
    },
  });

/** Lines of small letters and of single pixels: in a picture that was made larger they are soft. */
const SMALL_PRINT = `() => { document.body.innerHTML = '<div style="font:11px/13px sans-serif">' + Array.from({ length: 70 }, (_, n) =>
  'Row ' + n + ': lorem ipsum dolor sit amet, consectetur adipiscing elit '.repeat(4) + '<br>').join('') + '</div>'; return 1 }`;

/** Likeness of the last picture of a video and a screenshot, up to 1. */
function likenessOf(path: string, screenshot: Buffer): number {
  const shot = join(store, 'shot.png');
  writeFileSync(shot, screenshot);
  const last = join(store, 'last.png');
  execFileSync('ffmpeg', ['-v', 'error', '-y', '-sseof', '-1', '-i', path, '-update', '1', last]);
  const { stderr } = spawnSync('ffmpeg', ['-i', last, '-i', shot, '-lavfi', 'ssim', '-f', 'null', '-'], {
    encoding: 'utf8',
  });
  return Number(/All:([\d.]+)/.exec(stderr)?.[1]);
}

test('a picture of the video is as sharp as a screenshot, letters of 11 pixels too', async () => {
  const { token, mcpToken } = await controller.assignment(runner, { recordVideo: true, keepPages: 'none' });
  await runner.post('/assign', { token });
  const client = await connect(runner.url, mcpToken);
  await callText(client, 'browser_navigate', { url: site.url });
  await callText(client, 'browser_evaluate', { function: SMALL_PRINT });
  const { content } = await client.callTool({ name: 'browser_take_screenshot', arguments: { type: 'png' } });
  const picture = (content as { type: string; data?: string }[]).find(({ type }) => type === 'image'); // the tool-result shape of the protocol
  await callText(client, 'browser_wait_for', { time: 3 });
  await client.close();
  runner.child.kill('SIGTERM');
  await runner.exited;
  const [path = ''] = videos(runner.outputDir);
  expect(likenessOf(path, Buffer.from(picture?.data ?? '', 'base64'))).toBeGreaterThan(0.97);
});

test('[O12] SIGTERM: the recording is finalised at 1920x1080, as long as the session was, then the process exits', async () => {
  const { seconds } = await useBrowser();
  runner.child.kill('SIGTERM');
  // 1 would mean that the shutdown took more than its 10 s.
  expect(await runner.exited).toBe(0);
  expectPlayable(videos(runner.outputDir)[0], seconds - 1.5);
});

test('a drain order: the recording is finalised, then the process exits', async () => {
  const { seconds } = await useBrowser();
  await runner.post('/drain', { token: await controller.drainOrder(runner) });
  expect(await runner.exited).toBe(0);
  expectPlayable(videos(runner.outputDir)[0], seconds - 1.5);
});

test('kill -9 of the browser: the recording is finalised, agents learn of it, the crash is on the timeline', async () => {
  const { token, mcpToken } = await controller.assignment(runner, { recordVideo: true });
  await runner.post('/assign', { token });
  const client = await connect(runner.url, mcpToken);
  await callText(client, 'browser_navigate', { url: `${site.url}/animated` });
  await callText(client, 'browser_wait_for', { time: 1.5 });
  const running = client.callTool({ name: 'browser_wait_for', arguments: { time: 20 } });
  process.kill(runner.browserPid(), 'SIGKILL');
  expect(JSON.stringify(await running)).toContain('browser_crashed');
  const after = await client.callTool({ name: 'browser_navigate', arguments: { url: site.url } });
  expect(after.isError).toBe(true);
  expect(JSON.stringify(after)).toContain('browser_crashed');
  // A killed process is there until the kernel has freed its memory.
  const { status, body } = await eventually('the gate of the process to shut', async () => {
    const health = await runner.health();
    return health.body.browser.process.ok ? undefined : health;
  });
  expect([status, body.phase, body.error?.code]).toEqual([503, 'failed', 'browser_crashed']);
  await client.close();
  expect(await runner.exited).toBe(1);
  const crash = controller.events.find(({ kind }) => kind === 'browser.crashed');
  expect(crash?.data).toEqual({ detail: 'the browser process ended', exit: 'SIGKILL', stopped: [] });
  expectPlayable(videos(runner.outputDir)[0], 1, 'moving');
});

test('kill -9 of the whole runner: the encoder finalises what it has, and the uploader sends it', async () => {
  const { sessionId, seconds } = await useBrowser();
  runner.child.kill('SIGKILL');
  await runner.exited;
  await upload();
  const [stored, ...more] = videos(store);
  expect(more).toEqual([]);
  expect(stored).toBe(join(store, `pw-videos/test/${sessionId}/1-${runner.runnerId}/tab-001.webm`));
  expectPlayable(stored, seconds - 2.5);
  expect(controller.artifacts).toEqual([
    {
      state: 'stored',
      name: 'tab-001.webm',
      uri: pathToFileURL(stored ?? '').href,
      bytes: statSync(stored ?? '').size,
    },
  ]);
  expect(readdirSync(runner.outputDir)).toEqual([]);
});

test('kill -9 of the encoder too: what was seen until a moment before can be played', async () => {
  const { seconds } = await useBrowser();
  const encoders = readdirSync('/proc').filter(pid => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(join(runner.outputDir, 'tab-001.webm'));
    } catch {
      return false;
    }
  });
  expect(encoders).toHaveLength(1);
  for (const pid of encoders) process.kill(Number(pid), 'SIGKILL');
  await eventually('the event', () => controller.events.find(({ kind }) => kind === 'recording.stopped'));
  runner.child.kill('SIGKILL');
  await runner.exited;
  expectPlayable(videos(runner.outputDir)[0], seconds / 4, 'either'); // a killed encoder takes its buffer along
});

/** Leases the runner, opens a second tab, and closes it when its video has begun. */
async function closeSecondTab(): Promise<void> {
  const { token, mcpToken } = await controller.assignment(runner, { recordVideo: true });
  await runner.post('/assign', { token });
  const client = await connect(runner.url, mcpToken);
  await callText(client, 'browser_navigate', { url: site.url });
  await callText(client, 'browser_tabs', { action: 'new', url: `${site.url}/animated` });
  const second = join(runner.outputDir, 'tab-002.webm');
  await eventually('its first picture', () => existsSync(second) && statSync(second).size > 0);
  await callText(client, 'browser_tabs', { action: 'close' });
  await client.close();
}

test('every tab has a file of its own', async () => {
  await closeSecondTab();
  runner.child.kill('SIGTERM');
  await runner.exited;
  const files = videos(runner.outputDir);
  expect(files).toHaveLength(2);
  for (const file of files) expect(probe(file).pictures).toBeGreaterThan(1);
  // The first tab never showed the page of the second.
  expect(coloursIn(files[0] ?? '').filter(isDrawn)).toEqual([]);
});

test('the end waits for the file of a tab that was closed right before', async () => {
  const slow = join(store, 'slow-ffmpeg');
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
  await runner.dispose();
  runner = await startRunner(controller, { [ENV.ffmpegPath]: slow });
  await closeSecondTab();
  runner.child.kill('SIGTERM');
  await runner.exited;
  expect(readdirSync(runner.outputDir)).toEqual(expect.arrayContaining(['tab-001.webm.ended', 'tab-002.webm.ended']));
});

test('record_video: false records nothing and, where no page is kept, leaves nothing to upload', async () => {
  await useBrowser(false);
  runner.child.kill('SIGTERM');
  expect(await runner.exited).toBe(0);
  expect(readdirSync(runner.outputDir)).toEqual([]);
  await upload();
  expect(controller.artifacts).toEqual([]);
});

test('the upload order is there before the first frame, readable by its owner only', async () => {
  const { token } = await controller.assignment(runner, { recordVideo: true });
  await runner.post('/assign', { token });
  await eventually('a video file', () => videos(runner.outputDir)[0]);
  const path = join(runner.outputDir, UPLOAD_ORDER_FILE);
  expect(existsSync(path)).toBe(true);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  // The browser's credential stays in the runner's memory; the uploader has its own.
  const order = uploadOrder.parse(JSON.parse(readFileSync(path, 'utf8')));
  expect(order.upload_credential).toBe(controller.uploadCredential);
  expect(JSON.stringify(order)).not.toContain(controller.egressCredential);
});
