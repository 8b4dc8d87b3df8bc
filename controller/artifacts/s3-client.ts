import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3';

export interface BucketOptions {
  readonly bucket: string;
  readonly region: string;
  /** An S3 server of its own, which knows buckets by path and not by host name; undefined: AWS. */
  readonly endpoint: string | undefined;
}

/** A client for the bucket. Credentials are found by the SDK: the role of this process. */
export function createArtifactClient(
  { region, endpoint }: Omit<BucketOptions, 'bucket'>,
  more: Pick<S3ClientConfig, 'maxAttempts'> = {},
): S3Client {
  return new S3Client({ region, ...more, ...(endpoint === undefined ? {} : { endpoint, forcePathStyle: true }) });
}
