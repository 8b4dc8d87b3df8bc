import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { CreateBucketCommand, GetObjectCommand, ListMultipartUploadsCommand, S3Client } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { folderRecordingStore } from '../../../runner/uploader/folder-store.ts';
import type { RecordingStore, RecordingUpload } from '../../../runner/uploader/recording-store.ts';
import { s3Bucket } from '../../../runner/uploader/s3-bucket.ts';
import { PART_BYTES, s3Store } from '../../../runner/uploader/s3-store.ts';
import { motoServer } from './moto.ts';

interface StoreUnderTest extends AsyncDisposable {
  readonly store: RecordingStore;
  /** Undefined: there is none. */
  read(uri: string): Promise<Buffer | undefined>;
  /** The store's parts of unfinished files. */
  unfinished(): Promise<string[]>;
}

/** The uploader's assumptions, whichever the store. */
function recordingStoreContract(name: string, open: () => Promise<StoreUnderTest>): void {
  describe(name, () => {
    let under: StoreUnderTest;
    const folder = mkdtempSync(join(tmpdir(), 'omicron-test-recordings-'));
    beforeAll(async () => {
      under = await open();
    });
    afterAll(async () => {
      await under[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true, force: true });
    });

    let count = 0;
    /** A file of this many bytes, which differ from file to file and place to place. */
    function file(bytes: number, signal = new AbortController().signal) {
      count += 1;
      const content = Buffer.alloc(bytes, count);
      for (let at = 0; at < bytes; at += 4_096) content.writeUInt32BE(at, Math.min(at, bytes - 4));
      const path = join(folder, `${count}.webm`);
      writeFileSync(path, content);
      const upload: RecordingUpload = {
        path,
        key: `pw-videos/test/${count}/tab-001.webm`,
        state: {},
        save: async () => undefined,
        signal,
      };
      return { upload, content, write: () => writeFileSync(path, content) };
    }
    const stored = ({ key }: RecordingUpload) => under.read(under.store.uri(key));

    test.each([100, 2 * PART_BYTES + 1_000])('stores a file of %i bytes whole, under its key', async bytes => {
      const { upload, content } = file(bytes);
      expect(await stored(upload)).toBeUndefined();
      expect(await under.store.finish(upload, bytes)).toBe(bytes);
      expect((await stored(upload))?.equals(content)).toBe(true);
      expect(await under.unfinished()).toEqual([]);
    });

    test('a growing file is no object before it is finished, and a head that is written at the end is in it', async () => {
      const bytes = 3 * PART_BYTES + 5;
      const { upload, content, write } = file(bytes);
      await under.store.advance(upload, bytes);
      expect(await stored(upload)).toBeUndefined();
      content.fill(7, 0, 400);
      write();
      expect(await under.store.finish(upload, bytes)).toBe(bytes);
      expect((await stored(upload))?.equals(content)).toBe(true);
      expect(await under.unfinished()).toEqual([]);
    });

    test('finishing again, with the state of the first time, is harmless', async () => {
      const { upload, content } = file(1_000);
      await under.store.finish(upload, 1_000);
      expect(await under.store.finish(upload, 1_000)).toBe(1_000);
      expect((await stored(upload))?.equals(content)).toBe(true);
    });

    test('giving up discards what there is of an unfinished file; it may start over, and be given up twice', async () => {
      const bytes = 2 * PART_BYTES + 5;
      const { upload, content } = file(bytes);
      await under.store.advance(upload, bytes);
      await under.store.giveUp(upload);
      await under.store.giveUp(upload);
      expect(await under.unfinished()).toEqual([]);
      expect(await stored(upload)).toBeUndefined();
      await under.store.finish(upload, bytes);
      await under.store.giveUp(upload);
      expect((await stored(upload))?.equals(content)).toBe(true);
    });

    test('a file that is gone rejects, and leaves no object', async () => {
      const { upload } = file(10);
      rmSync(upload.path);
      await expect(under.store.finish(upload, 10)).rejects.toThrow(/ENOENT|is gone/);
      expect(await stored(upload)).toBeUndefined();
    });
  });
}

recordingStoreContract('a folder', async () => {
  const root = mkdtempSync(join(tmpdir(), 'omicron-test-store-'));
  return {
    store: folderRecordingStore(pathToFileURL(`${root}/`)),
    async read(uri) {
      try {
        return readFileSync(fileURLToPath(uri));
      } catch {
        return undefined;
      }
    },
    unfinished: async () =>
      readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(name => name.endsWith('.part')),
    async [Symbol.asyncDispose]() {
      rmSync(root, { recursive: true, force: true });
    },
  };
});

recordingStoreContract('S3', async () => {
  const moto = await motoServer('127.0.0.1');
  const Bucket = 'omicron-test-recordings';
  const client = new S3Client({
    region: 'eu-central-1',
    endpoint: `http://127.0.0.1:${moto.port}`,
    forcePathStyle: true,
    maxAttempts: 1,
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
  });
  await client.send(
    new CreateBucketCommand({ Bucket, CreateBucketConfiguration: { LocationConstraint: 'eu-central-1' } }),
  );
  return {
    store: s3Store(s3Bucket(client, Bucket)),
    async read(uri) {
      const Key = uri.slice(`s3://${Bucket}/`.length);
      const answer = await client.send(new GetObjectCommand({ Bucket, Key })).catch(() => undefined);
      return answer?.Body && Buffer.from(await answer.Body.transformToByteArray());
    },
    async unfinished() {
      const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket }));
      return Uploads.map(({ Key }) => Key ?? '');
    },
    async [Symbol.asyncDispose]() {
      client.destroy();
      await moto[Symbol.asyncDispose]();
    },
  };
});
