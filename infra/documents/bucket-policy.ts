import { AUDIT_PREFIX } from '../../contract/names.ts';
import { type Document, iamDocument, type Statement } from './document.ts';
import { profileObjects } from './profiles.ts';
import { type Recordings, recordingsObjects } from './recordings.ts';

type Condition = NonNullable<Statement['Condition']>;

/** A denial for the given principals, whatever their own policies allow. */
const refuse = (Sid: string, Action: string, Resource: readonly string[], condition: Condition): Statement => ({
  Sid,
  Effect: 'Deny',
  Principal: '*',
  Action: [Action],
  Resource,
  Condition: condition,
});

/** Denies every principal plain HTTP and TLS older than 1.2. */
export function refusePlain(bucketArn: string): Statement[] {
  const everywhere = [bucketArn, `${bucketArn}/*`];
  return [
    refuse('RefusePlainHttp', 's3:*', everywhere, { Bool: { 'aws:SecureTransport': 'false' } }),
    refuse('RefuseOldTls', 's3:*', everywhere, { NumericLessThan: { 's3:TlsVersion': '1.2' } }),
  ];
}

const SSE = 's3:x-amz-server-side-encryption';
const SSE_KEY = 's3:x-amz-server-side-encryption-aws-kms-key-id';
const SSE_CUSTOMER = 's3:x-amz-server-side-encryption-customer-algorithm';

/**
 * An upload that names an encryption must name this bucket's. A request without headers gets it as the bucket's
 * default; parts of a multipart upload never carry them. Negated operators match absent keys, hence each `Null`.
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_condition_operators.html#Conditions_Null
 */
const refuseOtherEncryption = (objects: string, keyArn: string): Statement[] => [
  refuse('RefuseOtherEncryption', 's3:PutObject', [objects], {
    StringNotEquals: { [SSE]: 'aws:kms' },
    Null: { [SSE]: 'false' },
  }),
  refuse('RefuseOtherKey', 's3:PutObject', [objects], {
    ArnNotEquals: { [SSE_KEY]: keyArn },
    Null: { [SSE_KEY]: 'false' },
  }),
  // `aws:kms` without a key id means the account's aws/s3 key, not the bucket's default:
  // https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutObject.html
  refuse('RefuseUnnamedKey', 's3:PutObject', [objects], { Null: { [SSE]: 'false', [SSE_KEY]: 'true' } }),
  refuse('RefuseCustomerKey', 's3:PutObject', [objects], { Null: { [SSE_CUSTOMER]: 'false' } }),
];

/**
 * The uploader may write and abort uploads in its prefixes. Enforced here too, so that a wider role policy gains
 * nothing.
 */
function confineUploader(recordings: Recordings, objects: string): Statement[] {
  const writing = ['s3:PutObject', 's3:AbortMultipartUpload'];
  const uploader: Condition = { ArnEquals: { 'aws:PrincipalArn': recordings.uploaderRoleArn } };
  const confine = { Effect: 'Deny', Principal: '*', Condition: uploader } as const;
  return [
    { Sid: 'UploaderOnlyWrites', ...confine, NotAction: writing, Resource: [recordings.bucketArn, objects] },
    {
      Sid: 'UploaderStaysInItsPrefix',
      ...confine,
      Action: writing,
      NotResource: recordingsObjects(recordings),
    },
  ];
}

/**
 * The policy of the recordings' bucket. It allows nothing: roles of the account get their rights from their own
 * policies, and this document denies what even those may not do.
 */
export function bucketPolicy(recordings: Recordings): Document {
  const objects = `${recordings.bucketArn}/*`;
  const exceptController: Condition = {
    ArnNotEquals: { 'aws:PrincipalArn': recordings.controllerRoleArn },
    BoolIfExists: { 'aws:PrincipalIsAWSService': 'false' },
  };
  return iamDocument(
    ...refusePlain(recordings.bucketArn),
    ...refuseOtherEncryption(objects, recordings.keyArn),
    ...confineUploader(recordings, objects),
    refuse('OnlyTheControllerKeepsProfiles', 's3:*', [profileObjects(recordings.bucketArn)], exceptController),
    refuse(
      'OnlyTheControllerWritesAudit',
      's3:PutObject',
      [`${recordings.bucketArn}/${AUDIT_PREFIX}/*`],
      exceptController,
    ),
    refuse('RefuseOtherAccounts', 's3:*', [recordings.bucketArn, objects], {
      StringNotEquals: { 'aws:PrincipalAccount': recordings.accountId },
      BoolIfExists: { 'aws:PrincipalIsAWSService': 'false' },
    }),
    // Steps of a multipart upload before its completion create no object and carry no If-None-Match:
    // https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes-enforce.html
    refuse('RefuseOverwriting', 's3:PutObject', [objects], {
      Null: { 's3:if-none-match': 'true' },
      Bool: { 's3:ObjectCreationOperation': 'true' },
    }),
  );
}

/**
 * The policy of the bucket that receives the access log: S3's log service writes, for one source bucket of this
 * account. https://docs.aws.amazon.com/AmazonS3/latest/userguide/enable-server-access-logging.html
 */
export function accessLogBucketPolicy(args: {
  bucketArn: string;
  sourceBucketArn: string;
  accountId: string;
}): Document {
  return iamDocument(...refusePlain(args.bucketArn), {
    Sid: 'ReceiveAccessLog',
    Effect: 'Allow',
    Principal: { Service: 'logging.s3.amazonaws.com' },
    Action: ['s3:PutObject'],
    Resource: [`${args.bucketArn}/*`],
    Condition: {
      ArnLike: { 'aws:SourceArn': args.sourceBucketArn },
      StringEquals: { 'aws:SourceAccount': args.accountId },
    },
  });
}
