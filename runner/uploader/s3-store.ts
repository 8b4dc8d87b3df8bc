import { readRange } from '../files/plain-file.ts';
import type { RecordingStore, RecordingUpload } from './recording-store.ts';
import { type Bucket, crc32Of, type SentPart } from './s3-bucket.ts';
import type { FileState } from './state.ts';

/**
 * S3 takes parts of 5 MiB and more, 10,000 of them:
 * <https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html>.
 */
export const PART_BYTES = 8 * 1024 * 1024;

/**
 * A bucket as the store. Full parts go out while the file grows, the first one last: the encoder writes into the head
 * at the end.
 */
export const s3Store = (bucket: Bucket): RecordingStore => ({
  uri: bucket.uri,
  async advance(file, bytes) {
    for (let number = 2; bytes >= number * PART_BYTES; number += 1)
      if (!sentPart(file.state, number)) await send(bucket, file, number, await readPart(file.path, number, bytes));
  },
  finish: (file, bytes) => finish(bucket, file, bytes),
  giveUp: file => giveUp(bucket, file),
});

/** Makes the bucket discard the parts it has. */
async function giveUp(bucket: Bucket, { state, key, save, signal }: RecordingUpload): Promise<void> {
  if (state.upload === undefined) return;
  await bucket.abort(key, state.upload.id, signal);
  delete state.upload;
  await save();
}

/**
 * Makes the object. An `exists` after an earlier attempt is that attempt's success, whose answer was lost: only this
 * uploader has a reason to write under its runner's id. Without an earlier attempt the object is another's.
 */
async function finish(bucket: Bucket, file: RecordingUpload, bytes: number): Promise<number | 'taken'> {
  const { state, key, path, save, signal } = file;
  const attemptedBefore = state.attemptedBytes;
  const small = state.upload === undefined && bytes < 2 * PART_BYTES;
  if (!small) await sendAll(bucket, file, bytes);
  state.attemptedBytes = bytes;
  await save();
  const outcome = small ? await bucket.put(key, await readRange(path, 0, bytes), signal) : await complete(bucket, file);
  if (outcome === 'stored') {
    delete state.upload;
    return bytes;
  }
  if (attemptedBefore === undefined) {
    await giveUp(bucket, file);
    return 'taken';
  }
  // A repeated upload that found the first one's object leaves parts behind; the bucket's lifecycle removes what
  // stays.
  await giveUp(bucket, file).catch(() => undefined);
  delete state.upload;
  return attemptedBefore;
}

/** Every part, the first one last. A part whose bytes are no longer those that were sent is sent again. */
async function sendAll(bucket: Bucket, file: RecordingUpload, bytes: number): Promise<void> {
  const count = Math.ceil(bytes / PART_BYTES);
  const parts = file.state.upload?.parts;
  if (parts?.some(({ number }) => number > count)) await giveUp(bucket, file); // it shrank
  for (const number of [...Array.from({ length: count - 1 }, (_, index) => index + 2), 1]) {
    const body = await readPart(file.path, number, bytes);
    if (sentPart(file.state, number)?.crc32 !== crc32Of(body)) await send(bucket, file, number, body);
  }
}

const sentPart = ({ upload }: FileState, number: number): SentPart | undefined =>
  upload?.parts.find(part => part.number === number);

const readPart = (path: string, number: number, bytes: number): Promise<Buffer> =>
  readRange(path, (number - 1) * PART_BYTES, Math.min(number * PART_BYTES, bytes));

async function send(bucket: Bucket, file: RecordingUpload, number: number, body: Buffer): Promise<void> {
  const { state, key, save, signal } = file;
  if (state.upload === undefined) {
    state.upload = { id: await bucket.begin(key, signal), parts: [] };
    await save();
  }
  const { upload } = state;
  const part = await bucket.part(key, upload.id, number, body, signal);
  if (part === 'gone') return beginAnew(file);
  upload.parts = [...upload.parts.filter(each => each.number !== number), part];
  await save();
}

async function complete(bucket: Bucket, file: RecordingUpload): Promise<'stored' | 'exists'> {
  const { state, key, signal } = file;
  if (state.upload === undefined) throw new Error('the upload was given up; it starts over');
  const outcome = await bucket.complete(key, state.upload.id, state.upload.parts, signal);
  return outcome === 'gone' ? beginAnew(file) : outcome;
}

/**
 * An upload that the bucket does not know was aborted, or completed by a call whose answer was lost: a new one finds
 * out.
 */
async function beginAnew({ state, save }: RecordingUpload): Promise<never> {
  delete state.upload;
  await save();
  throw new Error('the bucket no longer knows the upload; it starts over');
}
