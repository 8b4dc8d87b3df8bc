import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findTools } from '../../../local/machine-tools.ts';
import { videoFile } from '../../../runner/recording/ffmpeg.ts';
import { isEnded } from '../../../runner/uploader/recording-file.ts';
import { repairVideo } from '../../../runner/uploader/repair-video.ts';
import { eventually } from '../../eventually.ts';

const ffmpeg = findTools(process.env).ffmpeg ?? '';
const run = promisify(execFile);
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'omicron-repair-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** The length that a player reads, in seconds; NaN: nothing. */
async function secondsOf(path: string): Promise<number> {
  const { stderr } = await run(ffmpeg, ['-hide_banner', '-i', path, '-f', 'null', '-t', '0', '-']);
  const [, hours, minutes, seconds] = /Duration: (\d+):(\d+):([\d.]+)/.exec(stderr) ?? [];
  return Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
}

test('the file of an encoder that was killed gets its length, once, and no other byte changes', async () => {
  const { stdout: jpeg } = await run(
    ffmpeg,
    ['-loglevel', 'error', '-f', 'lavfi', '-i', 'color=red:s=320x180', '-frames:v', '1', '-f', 'mjpeg', '-'],
    { encoding: 'buffer' },
  );
  const whole = join(folder, 'whole.webm');
  const video = videoFile({ ffmpeg, path: whole, size: { width: 320, height: 180 } });
  const killed = join(folder, 'killed.webm');
  // The disk's content while it encodes is what its death would leave.
  const bytes = await eventually('two clusters', async () => {
    video.frame(jpeg);
    await copyFile(whole, killed).catch(() => undefined);
    const content = await readFile(killed).catch(() => Buffer.alloc(0));
    const clusters = content.toString('latin1').split('\u001fC\u00b6u').length - 1;
    return clusters >= 3 && content.length;
  });
  await video.close();

  expect(await secondsOf(killed)).toBeNaN();
  expect(await isEnded(killed, bytes)).toBe(false);
  const before = await readFile(killed);
  await repairVideo(killed, bytes);
  const after = await readFile(killed);
  expect(await isEnded(killed, bytes)).toBe(true);
  const seconds = await secondsOf(killed);
  expect(seconds).toBeGreaterThan(1);
  expect(seconds).toBeLessThanOrEqual(await secondsOf(whole));
  expect((await stat(killed)).size).toBe(bytes);
  expect(after.filter((byte, at) => byte !== before[at]).length).toBeLessThanOrEqual(19);

  await repairVideo(killed, bytes);
  expect(await readFile(killed)).toEqual(after);
});
