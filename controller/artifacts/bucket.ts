import { Readable } from 'node:stream';
import {
  DeleteObjectCommand,
  GetBucketLifecycleConfigurationCommand,
  GetObjectCommand,
  HeadObjectCommand,
  type LifecycleRule,
  ListObjectsV2Command,
  NotFound,
  paginateListObjectsV2,
  type S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { PAGE_PREFIX, VIDEO_PREFIX } from '../../contract/names.ts';
import { attachmentHeader } from '../../http/content-answer.ts';
import type { ArtifactStore, PrefixSurvey } from '../ports/artifacts.ts';
import { type BucketOptions, createArtifactClient } from './s3-client.ts';

interface BucketArtifactsOptions extends BucketOptions {
  /** Prefix of the deployment: its artifacts are below it. */
  readonly env: string;
}

/**
 * Artifacts in a bucket: its lifecycle deletes them (infra/bucket.ts). The controller's role says which of them it may read: videos
 * only where the deployment replays them (docs/adr/0072).
 */
export function bucketArtifacts({ bucket, env, ...place }: BucketArtifactsOptions): ArtifactStore {
  const client = createArtifactClient(place);
  const root = `s3://${bucket}/`;
  const prefixes = { videos: `${VIDEO_PREFIX}/${env}/`, pages: `${PAGE_PREFIX}/${env}/` } as const;
  const at = (Key: string) => ({ Bucket: bucket, Key });
  /** Undefined for what another store, or another bucket, has. */
  const keyOf = (uri: string): string | undefined => (uri.startsWith(root) ? uri.slice(root.length) : undefined);

  return {
    async remove(uri) {
      const key = keyOf(uri);
      if (key === undefined) throw new Error(`the artifact is not in ${root}`);
      // Only a list says that it is gone: a role that may not read an object is refused, whether it is there or not.
      const list = new ListObjectsV2Command({ Bucket: bucket, Prefix: key, MaxKeys: 1 });
      const { Contents = [] } = await client.send(list);
      return Contents.every(({ Key }) => Key !== key);
    },
    async erase(uri) {
      const key = keyOf(uri);
      if (key === undefined) throw new Error(`the artifact is not in ${root}`);
      await client.send(new DeleteObjectCommand(at(key)));
    },
    async read(uri) {
      const key = keyOf(uri);
      if (key === undefined) return null;
      const bytes = await sizeOf(client, new HeadObjectCommand(at(key)));
      if (bytes === null) return null;
      return {
        bytes,
        stream: (start, end) =>
          Readable.from(contentOf(client, new GetObjectCommand({ ...at(key), Range: `bytes=${start}-${end}` }))),
      };
    },
    async sign(uri, { name, mimeType, seconds }) {
      const key = keyOf(uri);
      if (key === undefined) return null;
      const object = { ...at(key), ResponseContentType: mimeType, ResponseContentDisposition: attachmentHeader(name) };
      return getSignedUrl(client, new GetObjectCommand(object), { expiresIn: seconds });
    },
    async survey() {
      const rules = await rulesOf(client, bucket);
      const look = async (holds: keyof typeof prefixes) => {
        const prefix = prefixes[holds];
        return { prefix, holds, ...(await heldBelow(client, bucket, prefix)), expiryDays: expiryDays(rules, prefix) };
      };
      return { prefixes: await Promise.all([look('videos'), look('pages')]) };
    },
  };
}

const FORBIDDEN = 403;

async function sizeOf(client: S3Client, command: HeadObjectCommand): Promise<number | null> {
  try {
    return (await client.send(command)).ContentLength ?? null;
  } catch (error) {
    if (error instanceof NotFound) return null;
    if (error instanceof S3ServiceException && error.$metadata.httpStatusCode === FORBIDDEN) return null;
    throw error;
  }
}

async function* contentOf(client: S3Client, command: GetObjectCommand): AsyncIterable<Uint8Array> {
  const { Body } = await client.send(command);
  if (Body instanceof Readable) yield* Body;
}

async function heldBelow(
  client: S3Client,
  Bucket: string,
  Prefix: string,
): Promise<Pick<PrefixSurvey, 'objects' | 'bytes' | 'oldestMs'>> {
  let [objects, bytes, oldestMs] = [0, 0, Number.POSITIVE_INFINITY];
  for await (const { Contents = [] } of paginateListObjectsV2({ client }, { Bucket, Prefix }))
    for (const { Size = 0, LastModified } of Contents) {
      objects += 1;
      bytes += Size;
      oldestMs = Math.min(oldestMs, LastModified?.getTime() ?? oldestMs);
    }
  return { objects, bytes, oldestMs: objects === 0 ? null : oldestMs };
}

async function rulesOf(client: S3Client, Bucket: string): Promise<LifecycleRule[]> {
  try {
    return (await client.send(new GetBucketLifecycleConfigurationCommand({ Bucket }))).Rules ?? [];
  } catch (error) {
    if (error instanceof S3ServiceException && error.name === 'NoSuchLifecycleConfiguration') return [];
    throw error;
  }
}

/** The soonest of the rules that remove every object below the prefix. */
function expiryDays(rules: readonly LifecycleRule[], prefix: string): number | null {
  const days = rules.flatMap(({ Status, Filter, Prefix, Expiration }) => {
    const ofAll = Filter?.Tag === undefined && Filter?.And === undefined;
    const covers = ofAll && prefix.startsWith(Filter?.Prefix ?? Prefix ?? '');
    return Status === 'Enabled' && covers && Expiration?.Days !== undefined ? [Expiration.Days] : [];
  });
  return days.length === 0 ? null : Math.min(...days);
}
