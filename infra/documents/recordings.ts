import { AUDIT_PREFIX, PAGE_PREFIX, VIDEO_PREFIX } from '../../contract/names.ts';
import { type Document, iamDocument, type Statement } from './document.ts';

/** Resources that the IAM documents about recordings refer to. */
export interface Recordings {
  readonly bucketArn: string;
  readonly keyArn: string;
  readonly env: string;
  readonly region: string;
  readonly accountId: string;
  readonly uploaderRoleArn: string;
  readonly readerRoleArn: string;
  readonly controllerRoleArn: string;
  /** Whether the controller reads them, too. */
  readonly replay: boolean;
}

/** Keys of one environment's videos and files, and of its kept pages; the uploader writes nowhere else. */
export const recordingsPrefixes = (env: string): string[] => [`${VIDEO_PREFIX}/${env}/`, `${PAGE_PREFIX}/${env}/`];

/** Every object of them. */
export const recordingsObjects = ({ bucketArn, env }: Pick<Recordings, 'bucketArn' | 'env'>): string[] =>
  recordingsPrefixes(env).map(prefix => `${bucketArn}/${prefix}*`);

/**
 * Only S3 may use the key, and only for this bucket. With a bucket key the encryption context is the bucket's ARN:
 * https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucket-key.html
 */
export const throughBucket = (recordings: Omit<Recordings, 'keyArn'>): NonNullable<Statement['Condition']> => ({
  StringEquals: {
    'kms:ViaService': `s3.${recordings.region}.amazonaws.com`,
    'kms:CallerAccount': recordings.accountId,
    'kms:EncryptionContext:aws:s3:arn': recordings.bucketArn,
  },
});

// A multipart upload needs Decrypt besides GenerateDataKey: S3 reads the parts' key again when it joins them.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/mpuoverview.html#mpuAndPermissions
export const ENCRYPT = ['kms:GenerateDataKey', 'kms:Decrypt'] as const;

/** The runner's role (O14): write its recordings and abort uploads. No List, which would reveal other sessions. */
export function uploaderPolicy(recordings: Recordings): Document {
  return iamDocument(
    {
      Sid: 'WriteRecordings',
      Effect: 'Allow',
      Action: ['s3:PutObject', 's3:AbortMultipartUpload'],
      Resource: recordingsObjects(recordings),
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

export const listRecordings = (recordings: Recordings): Statement => ({
  Sid: 'ListRecordings',
  Effect: 'Allow',
  Action: ['s3:ListBucket'],
  Resource: [recordings.bucketArn],
  Condition: { StringLike: { 's3:prefix': recordingsPrefixes(recordings.env).map(prefix => `${prefix}*`) } },
});

const decryptRecordings = (recordings: Recordings): Statement => ({
  Sid: 'DecryptRecordings',
  Effect: 'Allow',
  Action: ['kms:Decrypt'],
  Resource: [recordings.keyArn],
  Condition: throughBucket(recordings),
});

export const readRecordings = (recordings: Recordings): Statement => ({
  Sid: 'ReadRecordings',
  Effect: 'Allow',
  Action: ['s3:GetObject'],
  Resource: recordingsObjects(recordings),
});

const readAudit = ({ bucketArn, env }: Recordings): Statement[] => [
  {
    Sid: 'ListAudit',
    Effect: 'Allow',
    Action: ['s3:ListBucket'],
    Resource: [bucketArn],
    Condition: { StringLike: { 's3:prefix': [`${AUDIT_PREFIX}/${env}/*`] } },
  },
  { Sid: 'ReadAudit', Effect: 'Allow', Action: ['s3:GetObject'], Resource: [`${bucketArn}/${AUDIT_PREFIX}/${env}/*`] },
];

/** The administrators' role: the only one that reads the audit, and recordings (O15), unless the controller replays them. */
export function readerPolicy(recordings: Recordings): Document {
  return iamDocument(
    listRecordings(recordings),
    readRecordings(recordings),
    ...readAudit(recordings),
    decryptRecordings(recordings),
  );
}

// Rights to manage a key, and none to use it.
export const ADMINISTER = [
  ...['DescribeKey', 'GetKeyPolicy', 'GetKeyRotationStatus', 'ListResourceTags', 'ListKeyPolicies', 'PutKeyPolicy'],
  ...['EnableKeyRotation', 'EnableKey', 'DisableKey', 'UpdateKeyDescription', 'TagResource', 'UntagResource'],
  ...['CreateAlias', 'UpdateAlias', 'DeleteAlias', 'ScheduleKeyDeletion', 'CancelKeyDeletion'],
].map(action => `kms:${action}`);

/**
 * The key of the recordings. The account may administer it but not use it: a principal with every IAM right cannot
 * decrypt a recording without changing this document, which CloudTrail records.
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
  return iamDocument(
    allow('AccountAdministers', `arn:aws:iam::${recordings.accountId}:root`, ADMINISTER),
    allow('UploaderEncrypts', recordings.uploaderRoleArn, ENCRYPT, throughBucket(recordings)),
    allow('ControllerReadsFilesAndKeepsProfiles', recordings.controllerRoleArn, ENCRYPT, throughBucket(recordings)),
    allow('ReaderDecrypts', recordings.readerRoleArn, ['kms:Decrypt'], throughBucket(recordings)),
  );
}
