import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import { ENV, RUNNER_COMMAND } from '../../contract/names.ts';
import { type FakeController, startFakeController } from '../fakes/controller.ts';
import { type Site, startSite } from '../site/site.ts';
import { rawPictures } from './raw-pictures.ts';
import { callText, connect, type RunnerProcess, startRunner } from './start.ts';

/** A runner with its controller and a folder for recordings, new for each test; one site. */
export const on = {} as { site: Site; controller: FakeController; runner: RunnerProcess; store: string };

export function recordForEachTest(): void {
  beforeAll(async () => {
    on.site = await startSite();
  });
  afterAll(() => on.site.close());
  beforeEach(async () => {
    on.controller = await startFakeController();
    on.runner = await startRunner(on.controller);
    on.store = mkdtempSync(join(tmpdir(), 'omicron-test-store-'));
  });
  afterEach(async () => {
    await on.runner.dispose();
    await on.controller.close();
    rmSync(on.store, { recursive: true, force: true });
  });
}

/** Leases the on.runner, looks at a moving page for a while, and returns for how long it did. */
export async function useBrowser(recordVideo = true): Promise<{ sessionId: string; seconds: number }> {
  const { token, mcpToken, sessionId } = await on.controller.assignment(on.runner, { recordVideo, keepPages: 'none' });
  const startMs = performance.now();
  expect((await on.runner.post('/assign', { token })).status).toBe(200);
  const client = await connect(on.runner.url, mcpToken);
  await callText(client, 'browser_navigate', { url: `${on.site.url}/animated` });
  await callText(client, 'browser_wait_for', { time: 1.5 });
  // A page that stands still lasts, too.
  await callText(client, 'browser_navigate', { url: on.site.url });
  await callText(client, 'browser_wait_for', { time: 3 });
  const seconds = (performance.now() - startMs) / 1_000;
  await client.close().catch(() => undefined);
  return { sessionId, seconds };
}

export const videos = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.webm'))
    .map(name => join(folder, name))
    .sort();

/** The decoder's answer: every picture is decoded. */
export function probe(path: string): {
  codec: string;
  width: number;
  height: number;
  pictures: number;
  seconds: number;
} {
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
export function coloursIn(path: string): Colour[] {
  const bytes = execFileSync('ffmpeg', ['-v', 'error', '-i', path, ...rawPictures('crop=8:8:300:200,scale=1:1')]);
  return Array.from({ length: bytes.length / 3 }, (_, n) => [...bytes.subarray(3 * n, 3 * n + 3)]);
}

export const isDrawn = (colour: Colour): boolean => Math.max(...colour) - Math.min(...colour) > 60;

/** `last`: the page that the last picture shows. */
export function expectPlayable(path = 'no file', secondsMin = 0, last: 'still' | 'moving' | 'either' = 'still'): void {
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
export const upload = () =>
  promisify(execFile)(process.execPath, [RUNNER_COMMAND.uploaderMain, '--once'], {
    timeout: 20_000,
    env: {
      [ENV.controllerUrl]: on.controller.url,
      [ENV.outputDir]: on.runner.outputDir,
      [ENV.artifactStore]: pathToFileURL(on.store).href,
    },
  });
