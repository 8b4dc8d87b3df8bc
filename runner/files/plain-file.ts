import type { ReadStream } from 'node:fs';
import { constants, type FileHandle, open } from 'node:fs/promises';
import { basename } from 'node:path';
import { OmicronError } from '../../contract/problem.ts';

/**
 * Opens a plain file to be read. A compromised browser may write to the folder: no link is followed out of it, and no
 * pipe is waited for. To be closed by the caller. Throws `file_not_found`, with the file's name alone: paths are for no agent.
 */
export async function openPlain(path: string): Promise<FileHandle> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(cause => {
    throw fileGone(path, cause);
  });
  if ((await file.stat()).isFile()) return file;
  await file.close();
  throw fileGone(path);
}

const fileGone = (path: string, cause?: unknown): OmicronError =>
  new OmicronError(
    'file_not_found',
    `The file "${basename(path)}" is gone from the runner's disk. Bring it in or download it again, under another name.`,
    { cause },
  );

/** A plain file, or a part of it with both its ends, as a stream that closes the file. */
export const streamPlain = async (path: string, part?: { start: number; end: number }): Promise<ReadStream> =>
  (await openPlain(path)).createReadStream(part);

/** The bytes of a range; fewer where the file ends before it does. */
export async function readRange(path: string, from: number, to: number): Promise<Buffer> {
  const file = await openPlain(path);
  try {
    const bytes = Buffer.allocUnsafe(to - from);
    let length = 0;
    while (length < bytes.length) {
      const { bytesRead } = await file.read(bytes, length, bytes.length - length, from + length);
      if (bytesRead === 0) break;
      length += bytesRead;
    }
    return bytes.subarray(0, length);
  } finally {
    await file.close();
  }
}
