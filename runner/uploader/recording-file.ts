import { lstat } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { readRange } from '../files/plain-file.ts';

/** An encoder that outlived its runner writes its last bytes within milliseconds. */
const QUIET_MS = 1_000;

/** The file's size, once it has not been written to for a second. */
export async function settledBytes(path: string, signal: AbortSignal): Promise<number> {
  for (;;) {
    const { size, mtimeMs } = await lstat(path);
    const waitMs = mtimeMs + QUIET_MS - Date.now();
    if (waitMs <= 0 || waitMs > QUIET_MS || signal.aborted) return size;
    await delay(waitMs);
  }
}

/** The four bytes with which every webm file begins: <https://www.rfc-editor.org/rfc/rfc8794#section-11.2.1>. */
const EBML = Buffer.from([0x1a, 0x45, 0xdf, 0xa3]);
/** All else of the file is in it: <https://www.rfc-editor.org/rfc/rfc9559#section-5.1>. */
export const SEGMENT = Buffer.from([0x18, 0x53, 0x80, 0x67]);
/** Start of a cluster, the part that holds frames: <https://www.rfc-editor.org/rfc/rfc9559#section-5.1.3>. */
export const CLUSTER = Buffer.from([0x1f, 0x43, 0xb6, 0x75]);
const HEAD_BYTES = 64 * 1024;

/** Why the file is no recording; undefined: it is one. */
export async function flawOf(path: string, bytes: number): Promise<string | undefined> {
  if (bytes === 0) return 'the file is empty: the encoder ended before its first picture';
  const head = await readRange(path, 0, Math.min(bytes, HEAD_BYTES));
  if (!head.subarray(0, 4).equals(EBML)) return 'the file is not webm';
  if (!head.includes(CLUSTER)) return 'the file holds no picture';
  return undefined;
}

/**
 * Whether the encoder has ended the file: until then the size of its segment is unknown (all bits set); at the end it
 * is written into the head. Distinguishes a closed tab's file from one that only stands still.
 */
export async function isEnded(path: string, bytes: number): Promise<boolean> {
  const head = await readRange(path, 0, Math.min(bytes, 256));
  const sizeAt = head.indexOf(SEGMENT) + SEGMENT.length;
  // ffmpeg keeps eight bytes for the size, the first of which says so:
  // <https://www.rfc-editor.org/rfc/rfc8794#section-4>.
  if (sizeAt < SEGMENT.length || head.length < sizeAt + 8 || head[sizeAt] !== 0x01) return false;
  return head.readUIntBE(sizeAt + 2, 6) === bytes - sizeAt - 8;
}
