import { GetObjectCommand, paginateListObjectsV2 } from '@aws-sdk/client-s3';
import { type BucketOptions, createArtifactClient } from '../artifacts/s3-client.ts';

/** Objects below a prefix of a bucket, by their names there. Credentials are found by the SDK: variables, a profile, a role. */
export function readBucket({ bucket, prefix, ...place }: BucketOptions & { readonly prefix: string }) {
  const client = createArtifactClient(place);
  return {
    async names(): Promise<string[]> {
      const names: string[] = [];
      for await (const { Contents = [] } of paginateListObjectsV2({ client }, { Bucket: bucket, Prefix: prefix }))
        for (const { Key = '' } of Contents) names.push(Key.slice(prefix.length));
      return names;
    },
    async read(name: string): Promise<Buffer> {
      const { Body } = await client.send(new GetObjectCommand({ Bucket: bucket, Key: `${prefix}${name}` }));
      return Buffer.from((await Body?.transformToByteArray()) ?? []);
    },
  };
}
