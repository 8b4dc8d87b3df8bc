import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findTools } from '../../../local/machine-tools.ts';
import { videoFile } from '../../../runner/recording/ffmpeg.ts';
import { eventually } from '../../eventually.ts';

const ffmpeg = findTools(process.env).ffmpeg ?? '';
const SIZE = { width: 640, height: 360 };
const ENCODER_MB_MAX = 150;

const jpeg = (size: string): Buffer =>
  execFileSync(
    ffmpeg,
    ['-v', 'error', '-f', 'lavfi', '-i', `color=red:s=${size}`, '-frames:v', '1', '-f', 'mjpeg', '-'],
    {
      maxBuffer: 64 * 1024 * 1024,
    },
  );

/** The most memory that the process of this file's encoder held. */
function peakMb(path: string): number {
  const pid = readdirSync('/proc').find(each => {
    try {
      return /^\d+$/.test(each) && readFileSync(`/proc/${each}/cmdline`, 'utf8').includes(path);
    } catch {
      return false; // it ended meanwhile
    }
  });
  const [, kib = '0'] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kib) / 1_024;
}

test('a frame of 144 megapixels costs the encoder no memory, and the video goes on', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'omicron-test-encoder-'));
  const path = join(folder, 'video.webm');
  const video = videoFile({ ffmpeg, path, size: SIZE });
  try {
    const picture = jpeg('640x360');
    const huge = jpeg('12000x12000');
    video.frame(picture);
    for (let n = 0; n < 3; n++) video.frame(huge);
    await eventually('frames after them', () => {
      video.frame(picture);
      return statSync(path).size > 20_000;
    });
    expect(peakMb(path)).toBeLessThan(ENCODER_MB_MAX);
    await video.close();
    const count = ['-v', 'error', '-count_packets', '-show_entries', 'stream=nb_read_packets', '-of', 'csv=p=0', path];
    expect(Number(execFileSync('ffprobe', count).toString())).toBeGreaterThanOrEqual(2);
  } finally {
    await video.close();
    rmSync(folder, { recursive: true });
  }
});
