import type { Breaks } from '../broken.ts';

const BUCKET = 'aws:s3/bucket:Bucket';
const BUCKET_POLICY = 'aws:s3/bucketPolicy:BucketPolicy';
const SSE = 'aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration';
const LIFECYCLE = 'aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration';
const BLOCK = 'aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock';
const OWNERSHIP = 'aws:s3/bucketOwnershipControls:BucketOwnershipControls';
const LOGGING = 'aws:s3/bucketLogging:BucketLogging';

/** How each rule of policies/rules/storage.ts is broken, in as many ways as a person would think of. */
export const STORAGE_BREAKS: Breaks = {
  'bucket-not-public': {
    'one of the four settings is off': edit =>
      edit.change(BLOCK, 'artifacts', props => {
        props.restrictPublicBuckets = false;
      }),
    'there is no access block': edit => edit.remove(BLOCK, 'artifacts'),
  },
  'bucket-owner-enforced': {
    'ACLs are on': edit =>
      edit.change(OWNERSHIP, 'artifacts', props => {
        props.rule = { objectOwnership: 'ObjectWriter' };
      }),
  },
  'bucket-encrypted-with-own-key': {
    'S3 encrypts with its own key': edit =>
      edit.change(SSE, 'artifacts', props => {
        props.rules = [{ applyServerSideEncryptionByDefault: { sseAlgorithm: 'AES256' } }];
      }),
    'the bucket key is off': edit =>
      edit.change(SSE, 'artifacts', props => {
        (props.rules as Record<string, unknown>[])[0] = {
          ...(props.rules as Record<string, unknown>[])[0],
          bucketKeyEnabled: false,
        };
      }),
    'callers may bring their own key': edit =>
      edit.change(SSE, 'artifacts', props => {
        (props.rules as Record<string, unknown>[])[0] = {
          ...(props.rules as Record<string, unknown>[])[0],
          blockedEncryptionTypes: [],
        };
      }),
  },
  'bucket-expires': {
    'nothing expires': edit => edit.remove(LIFECYCLE, 'artifacts'),
    'uploads that never end stay': edit =>
      edit.change(LIFECYCLE, 'artifacts', props => {
        props.rules = (props.rules as Record<string, unknown>[]).filter(rule => rule.id === 'expire');
      }),
  },
  'bucket-refuses-plain-http': {
    'the denial covers objects only': edit =>
      edit.statement(BUCKET_POLICY, 'artifacts', 'RefusePlainHttp', statement => {
        statement.Resource = (statement.Resource as string[]).slice(1);
      }),
    'old TLS is let in': edit =>
      edit.statement(BUCKET_POLICY, 'artifacts', 'RefuseOldTls', statement => {
        statement.Condition = { NumericLessThan: { 's3:TlsVersion': '1.0' } };
      }),
    'the bucket has no policy': edit => edit.remove(BUCKET_POLICY, 'access-log'),
  },
  'bucket-logs-access': {
    'access to recordings is not logged': edit =>
      edit.change(LOGGING, 'artifacts', props => {
        props.bucket = 'another';
      }),
  },
  'prod-bucket-resists-deletion': {
    'Pulumi may delete it': edit => edit.unprotect(BUCKET, 'artifacts'),
    'it is emptied when it is deleted': edit =>
      edit.change(BUCKET, 'artifacts', props => {
        props.forceDestroy = true;
      }),
  },
};
