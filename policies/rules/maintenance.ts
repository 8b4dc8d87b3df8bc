import { type ResourceRule, readPath, toList } from '../rule.ts';

const REPOSITORY = 'aws:ecr/repository:Repository';

const immutable: ResourceRule = {
  name: 'image-tags-immutable',
  reason: 'If a tag can be moved, the reviewed image is not the deployed one.',
  link: 'https://docs.aws.amazon.com/AmazonECR/latest/userguide/image-tag-mutability.html',
  scope: 'resource',
  types: [REPOSITORY],
  check: ({ props }) => (props.imageTagMutability === 'IMMUTABLE' ? [] : ['set imageTagMutability to IMMUTABLE']),
};

const scanned: ResourceRule = {
  name: 'images-scanned',
  reason: 'A browser image accumulates CVEs; the scan lists them.',
  link: 'https://docs.aws.amazon.com/AmazonECR/latest/userguide/image-scanning.html',
  scope: 'resource',
  types: [REPOSITORY],
  check: ({ props }) =>
    readPath(props, 'imageScanningConfiguration', 'scanOnPush') === true ? [] : ['set scanOnPush'],
};

const imagesEncrypted: ResourceRule = {
  name: 'images-encrypted-with-own-key',
  reason: 'The key adds a second check of who may pull.',
  link: 'https://docs.aws.amazon.com/AmazonECR/latest/userguide/encryption-at-rest.html',
  scope: 'resource',
  types: [REPOSITORY],
  check: ({ props }) => {
    const configurations = toList(props.encryptionConfigurations);
    return configurations.some(one => readPath(one, 'encryptionType') === 'KMS' && readPath(one, 'kmsKey'))
      ? []
      : ['encrypt with KMS'];
  },
};

const rotates: ResourceRule = {
  name: 'keys-rotate',
  reason: 'Leaked key material is useful for a year at most.',
  link: 'https://docs.aws.amazon.com/kms/latest/developerguide/rotate-keys.html',
  scope: 'resource',
  types: ['aws:kms/key:Key'],
  check: ({ props }) => (props.enableKeyRotation === true ? [] : ['set enableKeyRotation']),
};

const logGroups: ResourceRule = {
  name: 'log-groups-expire-encrypted',
  reason: 'Logs contain users and addresses: they are kept for a limited time, under a key of the stack.',
  link: 'https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/encrypt-log-data-kms.html',
  scope: 'resource',
  types: ['aws:cloudwatch/logGroup:LogGroup'],
  check: ({ props }) =>
    Number(props.retentionInDays ?? 0) > 0 && props.kmsKeyId ? [] : ['set retentionInDays and kmsKeyId'],
};

/** AWS types that cannot be tagged. Every other type must be, so that a new type is not forgotten. */
const UNTAGGABLE = [
  'aws:autoscaling/tag:Tag',
  'aws:ec2/route:Route',
  'aws:ec2/routeTableAssociation:RouteTableAssociation',
  'aws:ecr/lifecyclePolicy:LifecyclePolicy',
  'aws:eks/accessPolicyAssociation:AccessPolicyAssociation',
  'aws:iam/accessKey:AccessKey',
  'aws:iam/rolePolicy:RolePolicy',
  'aws:iam/rolePolicyAttachment:RolePolicyAttachment',
  'aws:kms/alias:Alias',
  'aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration',
  'aws:s3/bucketLogging:BucketLogging',
  'aws:s3/bucketOwnershipControls:BucketOwnershipControls',
  'aws:s3/bucketPolicy:BucketPolicy',
  'aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock',
  'aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration',
];

const TAGS = ['project', 'env', 'managed-by'];

const tagged: ResourceRule = {
  name: 'tagged',
  reason: 'Billing, clean-up and the rule for production buckets use tags.',
  link: 'https://docs.aws.amazon.com/whitepapers/latest/tagging-best-practices/tagging-best-practices.html',
  scope: 'resource',
  check({ type, props }) {
    if (!type.startsWith('aws:') || UNTAGGABLE.includes(type)) return [];
    const missing = TAGS.filter(tag => !readPath(props, 'tags', tag));
    return missing.length > 0 ? [`add the tags ${missing.join(', ')}`] : [];
  },
};

export const MAINTENANCE = [immutable, scanned, imagesEncrypted, rotates, logGroups, tagged];
