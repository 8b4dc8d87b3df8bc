import { closeSync, openSync, writeSync } from 'node:fs';
import { mkdir, open, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { OmicronError } from '../../contract/problem.ts';
import { PROFILE_LIMITS, type ProfileFiles } from '../../contract/profile.ts';
import { digestOfChunk, type PlainChunk } from '../../contract/profile-chunks.ts';
import { keptFiles } from './kept-files.ts';
import { type FilePart, layOut, layOutParts } from './layout.ts';

/** A part of the files of some bytes, to be read. */
type Cut = { readonly parts: readonly FilePart[]; readonly bytes: number };

/** Requests under way at once: each waits for the store. */
const AT_ONCE = 4;
/** About what one request reads: most chunks are small, and each request costs some milliseconds. */
const READ_BYTES = 8 * 1024 * 1024;
/** Chunks of one request: the controller holds it three times: as it came, sealed, and as it was read back. */
const WRITE_BYTES = PROFILE_LIMITS.chunkBytesMax;

/**
 * Cuts the kept files of a user data folder that no browser writes to into chunks. `write` stores those that `known` does not have, some
 * at a time, and resolves with their names.
 */
export async function cutFiles(
  userDataDir: string,
  known: ProfileFiles['chunks'],
  write: (chunks: PlainChunk[]) => Promise<string[]>,
): Promise<Pick<ProfileFiles, 'chunks' | 'files'>> {
  const paths = await keptFiles(userDataDir);
  const sizes = await Promise.all(
    paths.map(async path => ({ path, bytes: (await stat(join(userDataDir, path))).size })),
  );
  if (sizes.reduce((sum, { bytes }) => sum + bytes, 0) > PROFILE_LIMITS.filesBytesMax) throw tooLarge();
  const { files, chunks } = layOut(sizes);
  const stored = new Map(known.map(chunk => [chunk.sha256, chunk]));
  const cuts = chunks.map(parts => ({ parts, bytes: parts.reduce((sum, { bytes }) => sum + bytes, 0) }));
  const written = await mapPooled(batchesOf(cuts, WRITE_BYTES), async batch => {
    const read = await Promise.all(batch.map(cut => readParts(userDataDir, cut)));
    const added = read.filter(chunk => !stored.has(chunk.sha256));
    const names = added.length === 0 ? [] : await write(added);
    const objects = new Map(added.map((chunk, place) => [chunk.sha256, names[place]]));
    return read.map(({ sha256, bytes }) => {
      const object = stored.get(sha256)?.object ?? objects.get(sha256);
      if (object === undefined) throw unnamedChunk();
      return { object, sha256, bytes: bytes.length };
    });
  });
  return { files, chunks: written.flat() };
}

/**
 * Writes the files into an empty folder; `read` resolves with the chunks one after the other. Each file is new, its path was checked with
 * the content, and every chunk is compared with its digest: throws `profile_unreadable` when one is not what was saved.
 */
export async function joinFiles(
  content: ProfileFiles,
  into: string,
  read: (objects: string[]) => Promise<Buffer>,
): Promise<void> {
  const parts = layOutParts(content);
  if (parts === undefined || new Set(content.files.map(({ path }) => path)).size < content.files.length)
    throw damagedChunk();
  for (const folder of new Set(content.files.map(({ path }) => dirname(path))))
    await mkdir(join(into, folder), { recursive: true, mode: 0o700 });
  const begun = new Set<string>();
  const place = ({ path }: Pick<FilePart, 'path'>): number => {
    const isNew = !begun.has(path);
    begun.add(path);
    return openSync(join(into, path), isNew ? 'wx' : 'r+', 0o600);
  };
  for (const file of content.files) if (file.bytes === 0) closeSync(place(file));
  const wanted = content.chunks.map((chunk, index) => ({ ...chunk, parts: parts[index] ?? [] }));
  await mapPooled(batchesOf(wanted, READ_BYTES), async batch => {
    const bytes = await read(batch.map(({ object }) => object));
    let at = 0;
    for (const chunk of batch) {
      const plain = bytes.subarray(at, at + chunk.bytes);
      at += chunk.bytes;
      if (digestOfChunk(plain) !== chunk.sha256) throw damagedChunk();
      for (const part of chunk.parts) writePart(place(part), plain, part);
    }
  });
}

/** Blocking: files of a profile are small and many, nothing else runs yet, and a call through the pool costs several times this. */
function writePart(file: number, chunk: Buffer, { fromBytes, bytes, atBytes }: FilePart): void {
  try {
    writeSync(file, chunk, atBytes, bytes, fromBytes);
  } finally {
    closeSync(file);
  }
}

/** In the same order, each of at most that many bytes and of no more chunks than a request may name. */
function batchesOf<Chunk extends { bytes: number }>(chunks: readonly Chunk[], bytesMax: number): Chunk[][] {
  const batches: Chunk[][] = [];
  let leftBytes = 0;
  for (const chunk of chunks) {
    const last = batches.at(-1);
    if (last === undefined || last.length === PROFILE_LIMITS.chunksAtOnceMax || chunk.bytes > leftBytes) {
      batches.push([chunk]);
      leftBytes = bytesMax;
    } else last.push(chunk);
    leftBytes -= chunk.bytes;
  }
  return batches;
}

async function readParts(userDataDir: string, { parts, bytes: size }: Cut): Promise<PlainChunk> {
  const content = Buffer.alloc(size);
  for (const { path, fromBytes, bytes, atBytes } of parts) {
    await using file = await open(join(userDataDir, path));
    await file.read(content, atBytes, bytes, fromBytes);
  }
  return { sha256: digestOfChunk(content), bytes: content };
}

/** Does the work for each item, several at once. Rejects with the first failure, after which no other work begins. */
async function mapPooled<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  const waiting = items.entries();
  let failed = false;
  const worker = async () => {
    for (const [index, item] of waiting) {
      if (failed) return;
      results[index] = await work(item).catch(error => {
        failed = true;
        throw error;
      });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return results;
}

const unnamedChunk = () =>
  new OmicronError('profile_unavailable', 'The controller did not name every chunk that was sent to it; save again.');

const tooLarge = () =>
  new OmicronError(
    'profile_too_large',
    `The files of a profile may take ${PROFILE_LIMITS.filesBytesMax / 1024 ** 3} GiB; clear what its sites store.`,
  );

const damagedChunk = () =>
  new OmicronError(
    'profile_unreadable',
    'The files of this version of the profile are not what was saved. Restore an older one.',
  );
