import { createHash } from 'node:crypto';
import * as z from 'zod';
import { tryParseJson } from './parse-json.ts';
import { OmicronError } from './problem.ts';
import { PROFILE_LIMITS, sha256 } from './profile.ts';

/** A chunk of the browser's files under the digest of its bytes. */
export interface PlainChunk {
  readonly sha256: string;
  readonly bytes: Buffer;
}

/** The first line of `POST /internal/runner-profile/chunks/write`: what follows, one after the other. */
const chunkList = z
  .array(z.strictObject({ sha256, bytes: z.int().min(1).max(PROFILE_LIMITS.chunkBytesMax) }))
  .min(1)
  .max(PROFILE_LIMITS.chunksAtOnceMax);

/** No list of as many chunks as may be takes more: each has a digest, a number and their names. */
const LIST_BYTES_MAX = PROFILE_LIMITS.chunksAtOnceMax * 128;
export const CHUNKS_BODY_BYTES_MAX = LIST_BYTES_MAX + PROFILE_LIMITS.chunkBytesMax;

const NEWLINE = Buffer.from('\n');

export const digestOfChunk = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

/** Chunks as one body. */
export function packChunks(chunks: readonly PlainChunk[]): Buffer {
  const list = chunks.map(chunk => ({ sha256: chunk.sha256, bytes: chunk.bytes.length }));
  return Buffer.concat([Buffer.from(JSON.stringify(list)), NEWLINE, ...chunks.map(({ bytes }) => bytes)]);
}

/** Chunks of such a body; throws `invalid_request` unless each is whole, and what its digest says. */
export function unpackChunks(body: Buffer): Buffer[] {
  const end = body.subarray(0, LIST_BYTES_MAX).indexOf(NEWLINE);
  const list = chunkList.safeParse(tryParseJson(body.subarray(0, Math.max(0, end)).toString()));
  if (!list.success) throw invalidBody('must begin with a list of chunks as JSON, and a newline');
  let at = end + NEWLINE.length;
  const chunks = list.data.map(chunk => {
    const bytes = body.subarray(at, at + chunk.bytes);
    at += chunk.bytes;
    if (digestOfChunk(bytes) !== chunk.sha256) throw invalidBody(`has a chunk that is not ${chunk.sha256}`);
    return bytes;
  });
  if (at !== body.length) throw invalidBody('must end with the last chunk');
  return chunks;
}

const invalidBody = (why: string) => new OmicronError('invalid_request', `Invalid request: the body ${why}.`);
