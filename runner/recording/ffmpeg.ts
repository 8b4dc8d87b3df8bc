import { spawn } from 'node:child_process';
import { setPriority } from 'node:os';

/** One recording on its way into a file. */
export interface VideoFile {
  readonly path: string;
  /** Appends one JPEG frame, shown from now on. Dropped while the encoder is behind. */
  frame(jpeg: Buffer): void;
  /** Finalises the file; resolves when the encoder has ended. Never rejects. */
  close(): Promise<void>;
  /** Resolves with the reason if the encoder ends by itself. */
  readonly failed: Promise<string>;
}

/** More than this waiting for the encoder: it is behind, and frames are dropped instead of kept in memory. */
const BACKLOG_BYTES_MAX = 4 * 1024 * 1024;
const CLOSE_MS = 4_000;
/** Largest block that the encoder may allocate, in bytes: five frames of 4K. A frame that claims to be larger is dropped. */
const BLOCK_BYTES_MAX = 64 * 1024 * 1024;

export interface VideoOptions {
  /** Absolute path of the encoder. */
  readonly ffmpeg: string;
  readonly path: string;
  readonly size: { width: number; height: number };
}

/**
 * Encodes JPEG frames into VP8 webm. The encoder is a process of its own, in its own group: it survives the browser,
 * and when this process dies, the end of its input makes it finalise the file. Written cluster by cluster
 * (<https://ffmpeg.org/ffmpeg-formats.html#matroska>), so that even its own death leaves what was seen so far. The fastest
 * setting with one thread takes a third of the CPU time of the one before, for pictures that are as good (SSIM 0.977).
 */
export function videoFile({ ffmpeg, path, size }: VideoOptions): VideoFile {
  const { width, height } = size;
  const fit = `scale=${width}:${height}:force_original_aspect_ratio=decrease,pad=${width}:${height}:0:0:gray`;
  const args = [
    ...['-loglevel', 'error', '-max_alloc', String(BLOCK_BYTES_MAX)],
    ...['-fpsprobesize', '0', '-probesize', '32', '-analyzeduration', '0'],
    ...['-f', 'image2pipe', '-c:v', 'mjpeg', '-use_wallclock_as_timestamps', '1', '-i', 'pipe:0'],
    ...['-vf', fit, '-an', '-fps_mode', 'vfr', '-c:v', 'libvpx', '-deadline', 'realtime', '-cpu-used', '16'],
    ...['-b:v', '2M', '-crf', '10', '-qmin', '2', '-qmax', '50', '-g', '150', '-threads', '1', '-pix_fmt', 'yuv420p'],
    ...['-f', 'webm', '-cluster_time_limit', '1000', '-flush_packets', '1', '-y', path],
  ];
  const child = spawn(ffmpeg, args, { stdio: ['pipe', 'ignore', 'pipe'], detached: true, env: {} });
  yieldProcessor(child.pid);
  const { promise: ended, resolve } = Promise.withResolvers<string>();
  const { promise: failed, resolve: fail } = Promise.withResolvers<string>();
  let closing = false;
  let words = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    words = (words + text).slice(-500);
  });
  // A full disk or a killed encoder shows as a broken pipe here; its exit has the reason.
  child.stdin.on('error', () => undefined);
  child.on('error', error => resolve(error.message));
  child.on('close', (code, signal) => resolve(words.trim() || `ended with ${signal ?? code}`));
  void ended.then(reason => {
    if (!closing) fail(reason);
  });
  return {
    path,
    failed,
    frame(jpeg) {
      if (child.stdin.writable && child.stdin.writableLength < BACKLOG_BYTES_MAX) child.stdin.write(jpeg);
    },
    async close() {
      closing = true;
      child.stdin.end();
      const late = setTimeout(() => child.kill('SIGKILL'), CLOSE_MS);
      await ended;
      clearTimeout(late);
    },
  };
}

/** The agent waits for the browser, and not for the encoder: it gets what is left of the processor. */
function yieldProcessor(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    setPriority(pid, NICE);
  } catch {
    // it did not start, or has ended: its exit says why
  }
}
const NICE = 10;
