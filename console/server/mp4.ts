import { spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream';
import { OmicronError } from '../../contract/problem.ts';

/** Makes MP4s of videos, one person's request at a time or a few of them. */
export interface Mp4Encoder {
  /** H.264 in MP4, as it is encoded. Ends the encoder when the answer is closed. Throws `too_many_requests`. */
  encode(webm: Readable): Readable;
}

/** Two minutes of video take an encoder ten seconds of one core. */
const AT_ONCE = 2;

/** Pieces of an MP4 that a player can begin with: the whole is never on a disk here. */
const OUTPUT = ['-movflags', 'frag_keyframe+empty_moov+default_base_moof', '-f', 'mp4', 'pipe:1'];

/**
 * Every picture once, at its own time: without `vfr` ffmpeg makes up 25 a second, at five times the work (measured). Sizes of H.264
 * are even.
 */
const H264 = [
  ...['-c:v', 'libx264', '-preset', 'veryfast', '-crf', '28', '-pix_fmt', 'yuv420p'],
  ...['-fps_mode', 'vfr', '-vf', 'scale=trunc(iw/2)*2:trunc(ih/2)*2', '-an', '-threads', '2'],
];

/** `ffmpeg`: the path of one with libx264, e.g. Debian's. */
export function mp4Encoder(ffmpeg: string): Mp4Encoder {
  let running = 0;
  return {
    encode(webm) {
      if (running >= AT_ONCE)
        throw new OmicronError('too_many_requests', 'Other videos are being made into MP4s; try again in a minute.', {
          retryAfterSeconds: 30,
        });
      running += 1;
      const child = spawn(ffmpeg, ['-loglevel', 'error', '-f', 'matroska', '-i', 'pipe:0', ...H264, ...OUTPUT], {
        stdio: ['pipe', 'pipe', 'ignore'],
        env: {},
      });
      pipeline(webm, child.stdin, () => undefined); // its end, or the encoder's, shows at the output
      child.stdout.once('close', () => child.kill('SIGKILL'));
      child.on('error', cause => child.stdout.destroy(cause));
      child.once('close', code => {
        running -= 1;
        if (code !== 0) child.stdout.destroy(new Error(`the encoder ended with ${code}`));
      });
      return child.stdout;
    },
  };
}

/** Whether this ffmpeg can make MP4s: Playwright's own build has no H.264. */
export function hasH264(ffmpeg: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const child = spawn(ffmpeg, ['-hide_banner', '-encoders'], { stdio: ['ignore', 'pipe', 'ignore'], env: {} });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', chunk => {
    text += chunk;
  });
  child.on('error', () => resolve(false));
  child.on('close', () => resolve(/\blibx264\b/.test(text)));
  return promise;
}
