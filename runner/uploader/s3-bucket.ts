import { crc32 } from 'node:zlib';
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  PutObjectCommand,
  type S3Client,
  S3ServiceException,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { mimeTypeOf } from '../../http/mime-type.ts';

/** A part that the bucket has: number from 1, and the checksum under which it was taken (CRC32, base64). */
export interface SentPart {
  readonly number: number;
  readonly etag: string;
  readonly crc32: string;
}

/** The checksum of a body as S3 writes it. */
export const crc32Of = (body: Buffer): string => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(crc32(body));
  return bytes.toString('base64');
};

/**
 * Rights of the uploader's role (infra/documents/recordings.ts): write objects that are not there yet, and abort an
 * upload. Every call makes one attempt and rejects when another may succeed. `exists`: an object has that key, and
 * stays as it is. `gone`: the bucket does not know that upload, or knows it no more.
 */
export interface Bucket {
  uri(key: string): string;
  put(key: string, body: Buffer, signal: AbortSignal): Promise<'stored' | 'exists'>;
  /** Resolves with the upload's id. */
  begin(key: string, signal: AbortSignal): Promise<string>;
  part(key: string, uploadId: string, number: number, body: Buffer, signal: AbortSignal): Promise<SentPart | 'gone'>;
  complete(
    key: string,
    uploadId: string,
    parts: readonly SentPart[],
    signal: AbortSignal,
  ): Promise<'stored' | 'exists' | 'gone'>;
  /** Does nothing when it is gone. */
  abort(key: string, uploadId: string, signal: AbortSignal): Promise<void>;
}

/**
 * No header names an encryption: the bucket's default is the deployment's key, and its policy refuses any other
 * (docs/adr/0005).
 */
export function s3Bucket(client: S3Client, name: string): Bucket {
  const at = (key: string) => ({ Bucket: name, Key: key });
  return {
    uri: key => `s3://${name}/${key}`,
    put: (key, body, abortSignal) =>
      expectCodes({ PreconditionFailed: 'exists' as const }, async () => {
        const command = new PutObjectCommand({
          ...at(key),
          Body: body,
          ContentType: mimeTypeOf(key),
          ChecksumCRC32: crc32Of(body),
          IfNoneMatch: '*',
        });
        await client.send(command, { abortSignal });
        return 'stored' as const;
      }),
    async begin(key, abortSignal) {
      const command = new CreateMultipartUploadCommand({
        ...at(key),
        ContentType: mimeTypeOf(key),
        ChecksumAlgorithm: 'CRC32',
      });
      const { UploadId } = await client.send(command, { abortSignal });
      if (UploadId === undefined) throw new Error('the bucket began an upload without an id');
      return UploadId;
    },
    part: (key, UploadId, PartNumber, body, abortSignal) =>
      expectCodes({ NoSuchUpload: 'gone' as const }, async () => {
        const sum = crc32Of(body);
        const command = new UploadPartCommand({ ...at(key), UploadId, PartNumber, Body: body, ChecksumCRC32: sum });
        const { ETag } = await client.send(command, { abortSignal });
        if (ETag === undefined) throw new Error('the bucket took a part without an ETag');
        return { number: PartNumber, etag: ETag, crc32: sum };
      }),
    complete: (key, UploadId, parts, abortSignal) =>
      expectCodes({ NoSuchUpload: 'gone' as const, PreconditionFailed: 'exists' as const }, async () => {
        const Parts = [...parts]
          .sort((a, b) => a.number - b.number)
          .map(({ number, etag, crc32: sum }) => ({ PartNumber: number, ETag: etag, ChecksumCRC32: sum }));
        const command = new CompleteMultipartUploadCommand({
          ...at(key),
          UploadId,
          MultipartUpload: { Parts },
          IfNoneMatch: '*',
        });
        await client.send(command, { abortSignal });
        return 'stored' as const;
      }),
    async abort(key, UploadId, abortSignal) {
      await expectCodes({ NoSuchUpload: 'gone' as const }, () =>
        client.send(new AbortMultipartUploadCommand({ ...at(key), UploadId }), { abortSignal }),
      );
    },
  };
}

/** Errors that are answers, by S3's code for them. */
async function expectCodes<T, A extends string>(answers: Readonly<Record<string, A>>, work: () => Promise<T>) {
  try {
    return await work();
  } catch (error) {
    const answer = error instanceof S3ServiceException ? answers[error.name] : undefined;
    if (answer === undefined) throw error;
    return answer;
  }
}
