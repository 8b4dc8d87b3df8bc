import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { PROFILE_LIMITS } from '../../contract/profile.ts';
import { CHUNKS_BODY_BYTES_MAX, digestOfChunk, packChunks, unpackChunks } from '../../contract/profile-chunks.ts';

const chunkOf = (bytes: Buffer) => ({ sha256: digestOfChunk(bytes), bytes });
const invalid = (message: RegExp) =>
  expect.objectContaining({ code: 'invalid_request', message: expect.stringMatching(message) });

it('brings chunks over as they were, in their order, newlines in them or not', () => {
  const chunks = [randomBytes(70_000), Buffer.from('\n\n[]\n'), randomBytes(1)];
  expect(unpackChunks(packChunks(chunks.map(chunkOf)))).toEqual(chunks);
});

it('holds as many chunks as a request may name, and as many bytes', () => {
  const { chunksAtOnceMax, chunkBytesMax } = PROFILE_LIMITS;
  const many = Array.from({ length: chunksAtOnceMax }, () => chunkOf(randomBytes(chunkBytesMax / chunksAtOnceMax)));
  const body = packChunks(many);
  expect(body.length).toBeLessThanOrEqual(CHUNKS_BODY_BYTES_MAX);
  expect(unpackChunks(body)).toHaveLength(chunksAtOnceMax);
  expect(() => unpackChunks(packChunks([...many, chunkOf(Buffer.from('one more'))]))).toThrow(
    invalid(/list of chunks/),
  );
});

it('takes none of a body in which one chunk was changed, cut, or is followed by more', () => {
  const body = packChunks([chunkOf(randomBytes(1_000)), chunkOf(randomBytes(1_000))]);
  const changed = Buffer.from(body);
  changed.writeUInt8(changed.readUInt8(body.length - 1) ^ 1, body.length - 1);
  expect(() => unpackChunks(changed)).toThrow(invalid(/not [0-9a-f]{64}/));
  expect(() => unpackChunks(body.subarray(0, -1))).toThrow(invalid(/not [0-9a-f]{64}/));
  expect(() => unpackChunks(Buffer.concat([body, Buffer.from('a')]))).toThrow(invalid(/end with the last chunk/));
});

it.each(['', 'no list\n', '[]\n', '[{"sha256":"a","bytes":1}]\na', '[', '\n'])('refuses the body %j', text => {
  expect(() => unpackChunks(Buffer.from(text))).toThrow(invalid(/list of chunks/));
});
