import { constants, open } from 'node:fs/promises';
import { readRange } from '../files/plain-file.ts';
import { CLUSTER, SEGMENT } from './recording-file.ts';

/**
 * The room that ffmpeg leaves for the duration until it ends the file: an element of 11 bytes that says nothing (Void,
 * <https://www.rfc-editor.org/rfc/rfc8794#section-11.3.2>), its size in eight bytes.
 */
const ROOM = Buffer.from([0xec, 0x01, 0, 0, 0, 0, 0, 0, 0x02]);
const ROOM_BYTES = 11;
/** <https://www.rfc-editor.org/rfc/rfc9559#section-5.1.2.10>: eight bytes of a float. */
const DURATION = [0x44, 0x89, 0x88] as const;
/** Both within a cluster: <https://www.rfc-editor.org/rfc/rfc9559#section-5.1.3>. */
const TIMESTAMP = 0xe7;
const SIMPLE_BLOCK = 0xa3;
const HEAD_BYTES = 4_096;
/** Clusters are a second long. */
const TAIL_BYTES = 8 * 1024 * 1024;

/**
 * Ends a file whose encoder was killed: players take its length from the head, which an encoder writes at its end. Changes
 * nothing in a file whose head has another form, and a repaired file is not repaired again.
 */
export async function repairVideo(path: string, bytes: number): Promise<void> {
  const head = await readRange(path, 0, Math.min(bytes, HEAD_BYTES));
  const segmentAt = head.indexOf(SEGMENT);
  const roomAt = head.indexOf(ROOM, segmentAt);
  const clusterAt = head.indexOf(CLUSTER);
  const ms = lastPictureMs(await readRange(path, Math.max(0, bytes - TAIL_BYTES), bytes));
  if (segmentAt < 0 || roomAt < 0 || (clusterAt >= 0 && roomAt > clusterAt) || ms === undefined) return;
  const duration = Buffer.alloc(ROOM_BYTES);
  duration.set(DURATION);
  duration.writeDoubleBE(ms, DURATION.length);
  const size = Buffer.alloc(8);
  const sizeAt = segmentAt + SEGMENT.length;
  size[0] = 0x01; // the size of a size of eight bytes
  size.writeUIntBE(bytes - sizeAt - size.length, 2, 6);
  const file = await open(path, constants.O_WRONLY | constants.O_NOFOLLOW);
  try {
    await file.write(duration, 0, duration.length, roomAt);
    await file.write(size, 0, size.length, sizeAt);
  } finally {
    await file.close();
  }
}

/** When the last whole picture is shown, in ms from the first; undefined: none is found. */
function lastPictureMs(tail: Buffer): number | undefined {
  const at = tail.lastIndexOf(CLUSTER);
  if (at < 0) return undefined;
  let next = at + CLUSTER.length;
  next += vintBytes(tail[next]); // its own size, unknown as yet
  let clusterMs = 0;
  let lastMs: number | undefined;
  while (next + 2 < tail.length) {
    const id = tail[next] ?? 0;
    const sizeAt = next + 1;
    const length = vintBytes(tail[sizeAt]);
    const dataAt = sizeAt + length;
    if (length > 6 || dataAt > tail.length) break;
    const size = tail.readUIntBE(sizeAt, length) - 2 ** (7 * length);
    if (dataAt + size > tail.length) break; // cut off
    if (id === TIMESTAMP && size <= 6) clusterMs = tail.readUIntBE(dataAt, size);
    // A track's number in one byte, and then the picture's time after the cluster's.
    if (id === SIMPLE_BLOCK) lastMs = Math.max(lastMs ?? 0, clusterMs + tail.readInt16BE(dataAt + 1));
    next = dataAt + size;
  }
  return lastMs ?? clusterMs;
}

/** How many bytes a number of variable length has, by its first: <https://www.rfc-editor.org/rfc/rfc8794#section-4>. */
const vintBytes = (first = 0): number => Math.clz32(first) - 23;
