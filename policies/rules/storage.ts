import { conditionValues, type PolicyStatement, parseStatements } from '../documents.ts';
import { type Finding, type Resource, type ResourceRule, readPath, type StackRule, toList } from '../rule.ts';

const BUCKET = 'aws:s3/bucket:Bucket';

const bucketsOf = (resources: readonly Resource[]): readonly Resource[] =>
  resources.filter(({ type }) => type === BUCKET);

/** Resources of one type that refer to this bucket. Bucket names are inputs here, so a preview knows them. */
const companions = (type: string, bucket: Resource, resources: readonly Resource[]): readonly Resource[] =>
  resources.filter(one => one.type === type && one.props.bucket === bucket.props.bucket);

/** A rule that each bucket needs a companion for which `holds` is true. */
function everyBucket(
  about: Omit<StackRule, 'scope' | 'check'>,
  type: string,
  holds: (companion: Resource) => boolean,
  message: string,
): StackRule {
  return {
    ...about,
    scope: 'stack',
    check: resources =>
      bucketsOf(resources)
        .filter(bucket => !companions(type, bucket, resources).some(holds))
        .map(resource => ({ resource, message })),
  };
}

const bucketNotPublic = everyBucket(
  {
    name: 'bucket-not-public',
    reason: 'One wrong ACL or policy publishes recordings of users.',
    link: 'https://docs.aws.amazon.com/AmazonS3/latest/userguide/access-control-block-public-access.html',
  },
  'aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock',
  ({ props }) =>
    ['blockPublicAcls', 'blockPublicPolicy', 'ignorePublicAcls', 'restrictPublicBuckets'].every(
      setting => props[setting] === true,
    ),
  'give it a BucketPublicAccessBlock with all four settings true',
);

const bucketOwnerEnforced = everyBucket(
  {
    name: 'bucket-owner-enforced',
    reason: 'With ACLs, an object may be owned and opened by the account that wrote it.',
    link: 'https://docs.aws.amazon.com/AmazonS3/latest/userguide/about-object-ownership.html',
  },
  'aws:s3/bucketOwnershipControls:BucketOwnershipControls',
  ({ props }) => readPath(props, 'rule', 'objectOwnership') === 'BucketOwnerEnforced',
  'give it BucketOwnershipControls with BucketOwnerEnforced',
);

const bucketEncrypted = everyBucket(
  {
    name: 'bucket-encrypted-with-own-key',
    reason: 'A key of its own adds a second check of who may read, and every use of the key is logged.',
    link: 'https://docs.aws.amazon.com/AmazonS3/latest/userguide/UsingKMSEncryption.html',
  },
  'aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration',
  ({ props }) =>
    toList(props.rules).some(rule => {
      const byDefault = readPath(rule, 'applyServerSideEncryptionByDefault');
      return (
        readPath(byDefault, 'sseAlgorithm') === 'aws:kms' &&
        Boolean(readPath(byDefault, 'kmsMasterKeyId')) &&
        readPath(rule, 'bucketKeyEnabled') === true &&
        toList(readPath(rule, 'blockedEncryptionTypes')).includes('SSE-C')
      );
    }),
  'encrypt it by default with aws:kms, a key by ARN, a bucket key, and SSE-C blocked',
);

const bucketExpires = everyBucket(
  {
    name: 'bucket-expires',
    reason: 'Recordings are kept for days only; parts of unfinished uploads cost money unnoticed.',
    link: 'https://docs.aws.amazon.com/AmazonS3/latest/userguide/object-lifecycle-mgmt.html',
  },
  'aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration',
  ({ props }) => {
    const enabled = toList(props.rules).filter(rule => readPath(rule, 'status') === 'Enabled');
    return (
      enabled.some(rule => Number(readPath(rule, 'expiration', 'days')) > 0) &&
      enabled.some(rule => Number(readPath(rule, 'abortIncompleteMultipartUpload', 'daysAfterInitiation')) > 0)
    );
  },
  'give it a lifecycle that expires objects and aborts multipart uploads',
);

/** A Deny for all principals, on the bucket and its objects. */
const deniesAll = (statement: PolicyStatement, bucket: unknown): boolean =>
  statement.effect === 'Deny' &&
  statement.principals.some(([kind]) => kind === '*') &&
  statement.actions.includes('s3:*') &&
  [`arn:aws:s3:::${bucket}`, `arn:aws:s3:::${bucket}/*`].every(arn => statement.resources.includes(arn));

const bucketRefusesPlain = everyBucket(
  {
    name: 'bucket-refuses-plain-http',
    reason: 'A request without TLS exposes its signature and content to the network.',
    link: 'https://docs.aws.amazon.com/AmazonS3/latest/userguide/security-best-practices.html#transit',
  },
  'aws:s3/bucketPolicy:BucketPolicy',
  policy => {
    const denials = parseStatements(policy).filter(statement => deniesAll(statement, policy.props.bucket));
    return (
      denials.some(one => conditionValues(one, ['Bool'], 'aws:SecureTransport').includes('false')) &&
      denials.some(one =>
        conditionValues(one, ['NumericLessThan'], 's3:TlsVersion').some(least => Number(least) >= 1.2),
      )
    );
  },
  'deny s3:* to all principals where aws:SecureTransport is false and where s3:TlsVersion is below 1.2',
);

const LOGGING = 'aws:s3/bucketLogging:BucketLogging';

const bucketLogsAccess: StackRule = {
  name: 'bucket-logs-access',
  reason: 'The log shows who read which recording.',
  link: 'https://docs.aws.amazon.com/AmazonS3/latest/userguide/ServerLogs.html',
  scope: 'stack',
  check(resources): Finding[] {
    const targets = resources.filter(({ type }) => type === LOGGING).map(({ props }) => props.targetBucket);
    return bucketsOf(resources)
      .filter(bucket => !targets.includes(bucket.props.bucket))
      .filter(bucket => companions(LOGGING, bucket, resources).length === 0)
      .map(resource => ({ resource, message: 'give it BucketLogging to a bucket for logs' }));
  },
};

const prodBucketStays: ResourceRule = {
  name: 'prod-bucket-resists-deletion',
  reason: 'Destroying the wrong stack must not delete the recordings of production.',
  link: 'https://www.pulumi.com/docs/iac/concepts/options/protect/',
  scope: 'resource',
  types: [BUCKET],
  check: ({ props, protect }) =>
    readPath(props, 'tags', 'env') === 'prod' && (!protect || props.forceDestroy === true)
      ? ['in prod set protect and leave forceDestroy off']
      : [],
};

export const STORAGE = [
  bucketNotPublic,
  bucketOwnerEnforced,
  bucketEncrypted,
  bucketExpires,
  bucketRefusesPlain,
  bucketLogsAccess,
  prodBucketStays,
];
