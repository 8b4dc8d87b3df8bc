import { PutObjectCommand, S3ServiceException } from '@aws-sdk/client-s3';
import { type BucketOptions, createArtifactClient } from '../artifacts/s3-client.ts';
import type { AuditFiles } from '../ports/audit-files.ts';

/** Audit files in the bucket of recordings. The controller's role may write them, and neither read nor delete one. */
export function bucketAuditFiles({ bucket, ...place }: BucketOptions): AuditFiles {
  const client = createArtifactClient(place);
  return {
    async put(Key, body) {
      const sent = {
        Bucket: bucket,
        Key,
        Body: body,
        ContentType: 'application/jsonl',
        ChecksumAlgorithm: 'SHA256',
      } as const;
      try {
        // the bucket's policy refuses what could write over an object
        await client.send(new PutObjectCommand({ ...sent, IfNoneMatch: '*' }));
      } catch (error) {
        // It is there, from an attempt whose answer was lost: its key has its digest.
        if (!(error instanceof S3ServiceException && error.name === 'PreconditionFailed')) throw error;
      }
    },
  };
}
