import { lstat } from 'node:fs/promises';
import type { Bucket, SentPart } from './bucket.ts';
import { checksum } from './checksum.ts';
import { flawOf, isEnded, readRange, settledBytes } from './recording-file.ts';
import type { FileState } from './state.ts';

/** S3 takes parts of 5 MiB and more, 10,000 of them: <https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html>. */
export const PART_BYTES = 8 * 1024 * 1024;

export interface FileUpload {
  readonly path: string;
  readonly key: string;
  readonly bucket: Bucket;
  readonly state: FileState;
  /** Keeps `state` on disk. */
  readonly save: () => Promise<void>;
  readonly signal: AbortSignal;
}

export type Progress =
  | { readonly at: 'growing' }
  | { readonly at: 'stored'; readonly bytes: number }
  | { readonly at: 'lost'; readonly reason: string };

/**
 * Brings one file's upload as far as it goes now; `final`: nobody writes to it any more. Rejects when the bucket does not
 * answer; call again. Full parts go out while the file grows, the first one last: the encoder writes into the head at the end.
 */
export async function advance(file: FileUpload, final: boolean): Promise<Progress> {
  if (file.state.storedBytes !== undefined) return { at: 'stored', bytes: file.state.storedBytes };
  const { size } = await lstat(file.path);
  if (!final && !(await isEnded(file.path, size))) {
    for (let number = 2; size >= number * PART_BYTES; number += 1)
      if (!sent(file.state, number)) await send(file, number, await partOf(file.path, number, size));
    return { at: 'growing' };
  }
  const bytes = await settledBytes(file.path, file.signal);
  const flaw = await flawOf(file.path, bytes);
  if (flaw !== undefined) {
    await giveUp(file);
    return { at: 'lost', reason: flaw };
  }
  return finish(file, bytes);
}

/** Tells the bucket to forget the parts it has; the object, if there is one, stays. */
export async function giveUp({ state, bucket, key, save, signal }: FileUpload): Promise<void> {
  if (state.upload === undefined) return;
  await bucket.abort(key, state.upload.id, signal);
  delete state.upload;
  await save();
}

/**
 * Makes the object. An `exists` after an earlier try is that try's success, whose answer was lost: only this uploader has a
 * reason to write under its runner's id. Without an earlier try it is somebody else's, and ours is lost.
 */
async function finish(file: FileUpload, bytes: number): Promise<Progress> {
  const { state, save } = file;
  const before = state.attemptedBytes;
  const small = state.upload === undefined && bytes < 2 * PART_BYTES;
  if (!small) await sendAll(file, bytes);
  state.attemptedBytes = bytes;
  await save();
  const outcome = small ? await putWhole(file, bytes) : await complete(file);
  if (outcome === 'exists' && before === undefined) {
    await giveUp(file);
    return { at: 'lost', reason: `another object has the key ${file.key}; nothing is overwritten` };
  }
  state.storedBytes = outcome === 'exists' && before !== undefined ? before : bytes;
  // A repeated upload that found the first one's object leaves parts behind.
  if (outcome === 'exists') await giveUp(file).catch(() => undefined);
  delete state.upload;
  await save();
  return { at: 'stored', bytes: state.storedBytes };
}

const putWhole = async ({ bucket, key, path, signal }: FileUpload, bytes: number) =>
  bucket.put(key, await readRange(path, 0, bytes), signal);

/** Every part, the first one last. A part whose bytes are no longer those that were sent is sent again. */
async function sendAll(file: FileUpload, bytes: number): Promise<void> {
  const count = Math.ceil(bytes / PART_BYTES);
  const parts = file.state.upload?.parts;
  if (parts?.some(({ number }) => number > count)) await giveUp(file); // it shrank
  for (const number of [...Array.from({ length: count - 1 }, (_, index) => index + 2), 1]) {
    const body = await partOf(file.path, number, bytes);
    if (sent(file.state, number)?.crc32 !== checksum(body)) await send(file, number, body);
  }
}

const sent = ({ upload }: FileState, number: number): SentPart | undefined =>
  upload?.parts.find(part => part.number === number);

const partOf = (path: string, number: number, bytes: number): Promise<Buffer> =>
  readRange(path, (number - 1) * PART_BYTES, Math.min(number * PART_BYTES, bytes));

async function send(file: FileUpload, number: number, body: Buffer): Promise<void> {
  const { state, bucket, key, save, signal } = file;
  if (state.upload === undefined) {
    state.upload = { id: await bucket.begin(key, signal), parts: [] };
    await save();
  }
  const { upload } = state;
  const part = await bucket.part(key, upload.id, number, body, signal);
  if (part === 'gone') return forget(file);
  upload.parts = [...upload.parts.filter(each => each.number !== number), part];
  await save();
}

async function complete(file: FileUpload): Promise<'stored' | 'exists'> {
  const { state, bucket, key, signal } = file;
  if (state.upload === undefined) throw new Error('the upload was given up; it begins anew');
  const outcome = await bucket.complete(key, state.upload.id, state.upload.parts, signal);
  return outcome === 'gone' ? forget(file) : outcome;
}

/** An upload that the bucket does not know was aborted, or completed by a call whose answer was lost: a new one finds out. */
async function forget({ state, save }: FileUpload): Promise<never> {
  delete state.upload;
  await save();
  throw new Error('the bucket does not know the upload any more; it begins anew');
}
