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
const throughBucket = (recordings: Omit<Recordings, 'keyArn'>): NonNullable<Statement['Condition']> => ({
  StringEquals: {
    'kms:ViaService': `s3.${recordings.region}.amazonaws.com`,
    'kms:CallerAccount': recordings.accountId,
    'kms:EncryptionContext:aws:s3:arn': recordings.bucketArn,
  },
});

// A multipart upload needs Decrypt besides GenerateDataKey: S3 reads the parts' key again when it joins them.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/mpuoverview.html#mpuAndPermissions
const ENCRYPT = ['kms:GenerateDataKey', 'kms:Decrypt'] as const;

/** The runner's role (O14): write its recordings and give up an upload. No List: the names of sessions are not its business. */
export function uploaderPolicy(recordings: Recordings): Document {
  return document(
    {
      Sid: 'WriteRecordings',
      Effect: 'Allow',
      Action: ['s3:PutObject', 's3:AbortMultipartUpload'],
      Resource: [`${recordings.bucketArn}/${recordingsPrefix(recordings.env)}*`],
    },
    {
      Sid: 'EncryptRecordings',
      Effect: 'Allow',
      Action: ENCRYPT,
      Resource: [recordings.keyArn],
      Condition: throughBucket(recordings),
    },
  );
}

const listRecordings = (recordings: Recordings): Statement => ({
  Sid: 'ListRecordings',
  Effect: 'Allow',
  Action: ['s3:ListBucket'],
  Resource: [recordings.bucketArn],
  Condition: { StringLike: { 's3:prefix': [`${recordingsPrefix(recordings.env)}*`] } },
});

/** The controller's role: see that a recording arrived or expired (O21). It never reads one. */
export const controllerPolicy = (recordings: Recordings): Document => document(listRecordings(recordings));

/** The administrators' role: the only one that reads recordings (O15). */
export function readerPolicy(recordings: Recordings): Document {
  return document(
    listRecordings(recordings),
    {
      Sid: 'ReadRecordings',
      Effect: 'Allow',
      Action: ['s3:GetObject'],
      Resource: [`${recordings.bucketArn}/${recordingsPrefix(recordings.env)}*`],
    },
    {
      Sid: 'DecryptRecordings',
      Effect: 'Allow',
      Action: ['kms:Decrypt'],
      Resource: [recordings.keyArn],
      Condition: throughBucket(recordings),
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
export function recordingsKeyPolicy(recordings: Omit<Recordings, 'keyArn'>): Document {
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
    allow('AccountAdministers', `arn:aws:iam::${recordings.accountId}:root`, ADMINISTER),
    allow('UploaderEncrypts', recordings.uploaderRoleArn, ENCRYPT, throughBucket(recordings)),
    allow('ReaderDecrypts', recordings.readerRoleArn, ['kms:Decrypt'], throughBucket(recordings)),
  );
}
