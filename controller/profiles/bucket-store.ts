import {
  DeleteObjectCommand,
  GetObjectCommand,
  NoSuchKey,
  PutObjectCommand,
  type S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3';
import { PROFILE_PREFIX } from '../../contract/names.ts';
import { OmicronError } from '../../contract/problem.ts';
import { type BucketOptions, createArtifactClient } from '../artifacts/s3-client.ts';
import type { ProfileStore } from '../ports/profile-store.ts';

/** Attempts of the SDK for one call. The content of a name never changes, so repeating is harmless. */
const ATTEMPTS = 3;

/**
 * Objects under `profiles/` of a bucket. No header names an encryption: the bucket's default applies (docs/adr/0005).
 */
export function bucketStore({ bucket, ...place }: BucketOptions): ProfileStore {
  const client = createArtifactClient(place, { maxAttempts: ATTEMPTS });
  const at = (name: string) => ({ Bucket: bucket, Key: `${PROFILE_PREFIX}/${name}` });
  const reached = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (cause) {
      throw new OmicronError('profile_unavailable', `The bucket of profiles cannot be used: ${bucket}.`, { cause });
    }
  };
  return {
    async put(name, bytes) {
      await reached(create(client, new PutObjectCommand({ ...at(name), Body: bytes, IfNoneMatch: '*' })));
    },
    get: name => reached(read(client, new GetObjectCommand(at(name)))),
    async remove(name) {
      await reached(client.send(new DeleteObjectCommand(at(name))));
    },
  };
}

/** The bucket's policy refuses what could write over an object. One that is there is the same: its name is its digest. */
async function create(client: S3Client, command: PutObjectCommand): Promise<void> {
  try {
    await client.send(command);
  } catch (error) {
    if (!(error instanceof S3ServiceException && error.name === 'PreconditionFailed')) throw error;
  }
}

async function read(client: S3Client, command: GetObjectCommand): Promise<Buffer | null> {
  try {
    const { Body } = await client.send(command);
    return Body === undefined ? null : Buffer.from(await Body.transformToByteArray());
  } catch (error) {
    if (error instanceof NoSuchKey) return null;
    throw error;
  }
}
