import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ListMultipartUploadsCommand } from '@aws-sdk/client-s3';
import { afterEach, beforeAll, beforeEach } from 'vitest';
import { PART_BYTES } from '../../../runner/uploader/s3-store.ts';
import { STATE_FILE } from '../../../runner/uploader/state.ts';
import { eventually } from '../../eventually.ts';
import type { Asked } from './front.ts';
import { BUCKET, clip, encode, type LeasedRunner, type UploadWorld, uploadWorld } from './world.ts';

/** The world of a file of tests. */
export let w: UploadWorld;
/** A lease of each test. */
export let lease: LeasedRunner;
/** A recording that is whole. */
export let sample: string;

/** Declares that each test of the file has a lease that records, in one world. */
export function leaseEachTest(): void {
  let folder: string;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'omicron-test-clip-'));
    sample = clip(folder);
    w = await uploadWorld();
    return async () => {
      await w[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true, force: true });
    };
  });
  beforeEach(async () => {
    w.front.fate = () => 'pass';
    w.front.asked.splice(0);
    lease = await w.lease();
  });
  afterEach(() => lease[Symbol.asyncDispose]());
}

export const TAB = 'tab-001.webm';
export const tab = () => join(lease.outputDir, TAB);
export const partsSeen = () => w.front.asked.filter(({ action }) => action === 'UploadPart').map(numberOf);
const numberOf = ({ query }: Asked) => Number(query.get('partNumber'));
export const stores = (action: string) => ['PutObject', 'CompleteMultipartUpload'].includes(action);
/** A file as the runner leaves it. */
export const leave = (name = TAB) => writeFileSync(join(lease.outputDir, name), readFileSync(sample));
export const storedRow = { state: 'stored', reason: null };

/** Grows until the store has parts, then stands still; the caller ends the encoder. */
export async function growing(uploader: { output(): string }, parts: number) {
  const encoder = encode(sample, tab(), 12);
  await eventually('the file has that many full parts', () => existsSync(tab()) && fullParts() > parts, 60_000);
  encoder.pause();
  await eventually(`they are at the store: ${uploader.output()}`, () => recorded() === fullParts() - 1, 60_000);
  return encoder;
}
export const fullParts = () => Math.floor(statSync(tab()).size / PART_BYTES);
/** Parts that the uploader knows to be at the store. */
export const recorded = () => readFileSync(join(lease.outputDir, STATE_FILE), 'utf8').split('"number"').length - 1;

/** Multipart uploads of this lease that are neither completed nor given up. */
export async function unfinished() {
  const { Uploads = [] } = await w.s3.send(new ListMultipartUploadsCommand({ Bucket: BUCKET }));
  return Uploads.filter(({ Key }) => Key?.startsWith(lease.order.artifacts_prefix));
}
