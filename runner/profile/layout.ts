import { PROFILE_LIMITS, type ProfileFiles } from '../../contract/profile.ts';

/** A part of a file, and where it is in a chunk. */
export interface FilePart {
  readonly path: string;
  readonly fromBytes: number;
  readonly bytes: number;
  readonly atBytes: number;
}

/**
 * Smaller files share chunks. LevelDB, which most of the files are of, writes a table once and never again, so that fixed cuts find
 * what did not change as well as cuts by content do: docs/adr/0085.
 */
const SMALL_BYTES = 64 * 1024;

/** Large files first, each from a chunk of its own; then the small ones, in the order given. */
export function layOut(sizes: readonly { path: string; bytes: number }[]): {
  files: ProfileFiles['files'];
  chunks: FilePart[][];
} {
  const files: ProfileFiles['files'] = [];
  const chunks: FilePart[][] = [];
  let at = 0;
  let leftBytes = 0;
  const isSmall = ({ bytes }: { bytes: number }) => bytes < SMALL_BYTES;
  const sorted = [...sizes.filter(size => !isSmall(size)), ...sizes.filter(isSmall)];
  for (const { path, bytes } of sorted) {
    files.push({ path, at, bytes });
    if (bytes >= SMALL_BYTES || bytes > leftBytes) leftBytes = 0;
    for (let fromBytes = 0; fromBytes < bytes; ) {
      if (leftBytes === 0) {
        chunks.push([]);
        leftBytes = PROFILE_LIMITS.chunkBytesMax;
      }
      const part = Math.min(bytes - fromBytes, leftBytes);
      const atBytes = PROFILE_LIMITS.chunkBytesMax - leftBytes;
      chunks.at(-1)?.push({ path, fromBytes, bytes: part, atBytes });
      fromBytes += part;
      leftBytes -= part;
    }
    if (bytes >= SMALL_BYTES) leftBytes = 0;
    at += bytes;
  }
  return { files, chunks };
}

/** The parts of files that each chunk holds. Undefined: chunks and files do not fit together. */
export function layOutParts({ files, chunks }: Pick<ProfileFiles, 'files' | 'chunks'>): FilePart[][] | undefined {
  const ordered = files.filter(({ bytes }) => bytes > 0).sort((one, other) => one.at - other.at);
  const parts: FilePart[][] = [];
  let from = 0;
  let next = 0;
  let writtenBytes = 0;
  for (const { bytes } of chunks) {
    const held: FilePart[] = [];
    for (let at = from; at < from + bytes; ) {
      const file = ordered[next];
      if (file === undefined || file.at + writtenBytes !== at) return undefined;
      const part = Math.min(file.bytes - writtenBytes, from + bytes - at);
      held.push({ path: file.path, fromBytes: writtenBytes, bytes: part, atBytes: at - from });
      at += part;
      writtenBytes += part;
      if (writtenBytes < file.bytes) continue;
      next += 1;
      writtenBytes = 0;
    }
    parts.push(held);
    from += bytes;
  }
  return next === ordered.length ? parts : undefined;
}
