import { VIDEO_PREFIX } from '../../contract/names.ts';
import { type Document, document, type Statement } from './document.ts';

/** What the documents of the recordings speak of. */
export interface Recordings {
  readonly bucketArn: string;
  readonly keyArn: string;
  readonly env: string;
  readonly region: string;
  readonly accountId: string;
  readonly uploaderRoleArn: string;
  readonly readerRoleArn: string;
}

/** Keys of one environment; the uploader writes nowhere else. */
export const recordingsPrefix = (env: string): string => `${VIDEO_PREFIX}/${env}/`;

/**
 * The key may be used by S3 for this bucket alone. With a bucket key the encryption context is the bucket's ARN:
 * https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucket-key.html
 */
const throughBucket = (to: Omit<Recordings, 'keyArn'>): NonNullable<Statement['Condition']> => ({
  StringEquals: {
    'kms:ViaService': `s3.${to.region}.amazonaws.com`,
    'kms:CallerAccount': to.accountId,
    'kms:EncryptionContext:aws:s3:arn': to.bucketArn,
  },
});

// A multipart upload needs Decrypt besides GenerateDataKey: S3 reads the parts' key again when it joins them.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/mpuoverview.html#mpuAndPermissions
const ENCRYPT = ['kms:GenerateDataKey', 'kms:Decrypt'] as const;

/** The runner's role (O14): write its recordings and give up an upload. No List: the names of sessions are not its business. */
export function uploaderPolicy(to: Recordings): Document {
  return document(
    {
      Sid: 'WriteRecordings',
      Effect: 'Allow',
      Action: ['s3:PutObject', 's3:AbortMultipartUpload'],
      Resource: [`${to.bucketArn}/${recordingsPrefix(to.env)}*`],
    },
    {
      Sid: 'EncryptRecordings',
      Effect: 'Allow',
      Action: ENCRYPT,
      Resource: [to.keyArn],
      Condition: throughBucket(to),
    },
  );
}

const listRecordings = (to: Recordings): Statement => ({
  Sid: 'ListRecordings',
  Effect: 'Allow',
  Action: ['s3:ListBucket'],
  Resource: [to.bucketArn],
  Condition: { StringLike: { 's3:prefix': [`${recordingsPrefix(to.env)}*`] } },
});

/** The controller's role: see that a recording arrived or expired (O21). It never reads one. */
export const controllerPolicy = (to: Recordings): Document => document(listRecordings(to));

/** The administrators' role: the only one that reads recordings (O15). */
export function readerPolicy(to: Recordings): Document {
  return document(
    listRecordings(to),
    {
      Sid: 'ReadRecordings',
      Effect: 'Allow',
      Action: ['s3:GetObject'],
      Resource: [`${to.bucketArn}/${recordingsPrefix(to.env)}*`],
    },
    {
      Sid: 'DecryptRecordings',
      Effect: 'Allow',
      Action: ['kms:Decrypt'],
      Resource: [to.keyArn],
      Condition: throughBucket(to),
    },
  );
}

// All that managing a key takes, and nothing that uses it.
const ADMINISTER = [
  ...['DescribeKey', 'GetKeyPolicy', 'GetKeyRotationStatus', 'ListResourceTags', 'ListKeyPolicies', 'PutKeyPolicy'],
  ...['EnableKeyRotation', 'EnableKey', 'DisableKey', 'UpdateKeyDescription', 'TagResource', 'UntagResource'],
  ...['CreateAlias', 'UpdateAlias', 'DeleteAlias', 'ScheduleKeyDeletion', 'CancelKeyDeletion'],
].map(action => `kms:${action}`);

/**
 * The key of the recordings. The account administers it but does not, by that, use it: whoever may do everything in IAM
 * still cannot decrypt a recording without changing this document, which CloudTrail shows.
 * https://docs.aws.amazon.com/kms/latest/developerguide/key-policy-default.html
 */
export function recordingsKeyPolicy(to: Omit<Recordings, 'keyArn'>): Document {
  const allow = (
    Sid: string,
    AWS: string,
    Action: readonly string[],
    Condition?: Statement['Condition'],
  ): Statement => ({
    Sid,
    Effect: 'Allow',
    Principal: { AWS },
    Action,
    Resource: ['*'], // in a key policy: this key
    ...(Condition ? { Condition } : {}),
  });
  return document(
    allow('AccountAdministers', `arn:aws:iam::${to.accountId}:root`, ADMINISTER),
    allow('UploaderEncrypts', to.uploaderRoleArn, ENCRYPT, throughBucket(to)),
    allow('ReaderDecrypts', to.readerRoleArn, ['kms:Decrypt'], throughBucket(to)),
  );
}
