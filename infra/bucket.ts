import * as aws from '@pulumi/aws';
import * as pulumi from '@pulumi/pulumi';
import { PAGE_PREFIX, VIDEO_PREFIX } from '../contract/names.ts';
import type { StackConfig } from './config.ts';
import { type Deployment, tagsFor } from './deployment.ts';
import { accessLogBucketPolicy, bucketPolicy } from './documents/bucket-policy.ts';
import { type Recordings, readerPolicy, recordingsKeyPolicy } from './documents/recordings.ts';
import { key } from './keys.ts';
import { documentJson, grant } from './role.ts';

/**
 * The bucket of recordings (O15): written once by the uploader, read by administrators, deleted after some days. Profiles are there too,
 * for the controller alone. Bucket
 * names are known before anything is created, so that documents and previews can refer to them.
 */
export class ArtifactBucket extends pulumi.ComponentResource {
  readonly name: pulumi.Output<string>;
  readonly keyArn: pulumi.Output<string>;
  /** Everything that the IAM documents about recordings need. */
  readonly recordings: pulumi.Output<Recordings>;

  constructor(
    deployment: Deployment,
    args: { config: StackConfig['artifacts']; uploader: aws.iam.Role; reader: aws.iam.Role; controller: aws.iam.Role },
  ) {
    super('omicron:infra:ArtifactBucket', 'artifacts');
    const opts = { parent: this };
    const bucketName = (kind: string): pulumi.Output<string> =>
      pulumi.interpolate`${deployment.name}-${kind}-${deployment.accountId}-${deployment.region}`;
    const arnOf = (name: string): string => `arn:aws:s3:::${name}`;

    const log = this.#bucket(deployment, 'access-log', bucketName('log'));
    const bucket = this.#bucket(deployment, 'artifacts', bucketName('artifacts'));

    // A key's own policy calls the key `*`; its ARN, known later, completes what the other documents need.
    const known = pulumi
      .all([bucket.bucket, deployment.accountId, args.uploader.arn, args.reader.arn, args.controller.arn])
      .apply(([name, accountId, uploaderRoleArn, readerRoleArn, controllerRoleArn]) => ({
        bucketArn: arnOf(name),
        env: deployment.env,
        region: deployment.region,
        accountId,
        uploaderRoleArn,
        readerRoleArn,
        controllerRoleArn,
        replay: args.config.replay,
      }));
    const made = key(
      deployment,
      'artifacts',
      {
        description: 'Recordings of browser sessions',
        policy: documentJson(known.apply(recordingsKeyPolicy)),
        protect: deployment.protect,
      },
      opts,
    );
    this.name = bucket.bucket;
    this.keyArn = made.arn;
    this.recordings = pulumi.all([known, made.arn]).apply(([rest, keyArn]) => ({ ...rest, keyArn }));

    new aws.s3.BucketServerSideEncryptionConfiguration(
      'artifacts',
      {
        bucket: bucket.bucket,
        rules: [
          {
            applyServerSideEncryptionByDefault: { sseAlgorithm: 'aws:kms', kmsMasterKeyId: made.arn },
            bucketKeyEnabled: true, // one KMS call per bucket and while, not per part
            blockedEncryptionTypes: ['SSE-C'],
          },
        ],
      },
      opts,
    );
    // Access logs can be delivered only to a bucket encrypted with S3's own key:
    // https://docs.aws.amazon.com/AmazonS3/latest/userguide/enable-server-access-logging.html
    new aws.s3.BucketServerSideEncryptionConfiguration(
      'access-log',
      { bucket: log.bucket, rules: [{ applyServerSideEncryptionByDefault: { sseAlgorithm: 'AES256' } }] },
      opts,
    );
    const { retentionDays, pagesRetentionDays } = args.config;
    const artifactRules = {
      expire: folderLifetime(VIDEO_PREFIX, retentionDays),
      'expire-pages': folderLifetime(PAGE_PREFIX, pagesRetentionDays),
    };
    expire('artifacts', bucket, artifactRules, opts);
    expire('access-log', log, { expire: { prefix: '', days: 90 } }, opts);

    const logPolicy = new aws.s3.BucketPolicy(
      'access-log',
      {
        bucket: log.bucket,
        policy: documentJson(
          pulumi
            .all([log.bucket, bucket.bucket, deployment.accountId])
            .apply(([name, source, accountId]) =>
              accessLogBucketPolicy({ bucketArn: arnOf(name), sourceBucketArn: arnOf(source), accountId }),
            ),
        ),
      },
      opts,
    );
    new aws.s3.BucketPolicy(
      'artifacts',
      { bucket: bucket.bucket, policy: documentJson(this.recordings.apply(bucketPolicy)) },
      opts,
    );
    new aws.s3.BucketLogging(
      'artifacts',
      { bucket: bucket.bucket, targetBucket: log.bucket, targetPrefix: 'artifacts/' },
      { ...opts, dependsOn: [logPolicy] },
    );
    grant('artifact-reader', args.reader, this.recordings.apply(readerPolicy), opts);
    this.registerOutputs();
  }

  /** A bucket that no ACL or policy can make public. */
  #bucket(deployment: Deployment, name: string, bucket: pulumi.Output<string>): aws.s3.Bucket {
    const opts = { parent: this };
    const made = new aws.s3.Bucket(
      name,
      { bucket, forceDestroy: !deployment.protect, tags: tagsFor(deployment, name) },
      { ...opts, protect: deployment.protect },
    );
    new aws.s3.BucketPublicAccessBlock(
      name,
      {
        bucket: made.bucket,
        blockPublicAcls: true,
        blockPublicPolicy: true,
        ignorePublicAcls: true,
        restrictPublicBuckets: true,
      },
      opts,
    );
    new aws.s3.BucketOwnershipControls(
      name,
      { bucket: made.bucket, rule: { objectOwnership: 'BucketOwnerEnforced' } },
      opts,
    );
    return made;
  }
}

/** A recording is sent while it is made: a lease may last seven days, and S3 forgets the parts of an upload by its age alone. */
const UPLOAD_DAYS_MAX = 8;

interface Lifetime {
  readonly prefix: string;
  readonly days: number;
}
const folderLifetime = (folder: string, days: number): Lifetime => ({ prefix: `${folder}/`, days });

/** Rules by their ids. */
function expire(
  name: string,
  bucket: aws.s3.Bucket,
  lifetimes: Readonly<Record<string, Lifetime>>,
  opts: pulumi.CustomResourceOptions,
): void {
  new aws.s3.BucketLifecycleConfiguration(
    name,
    {
      bucket: bucket.bucket,
      rules: [
        ...Object.entries(lifetimes).map(([id, { prefix, days }]) => ({
          id,
          status: 'Enabled',
          filter: { prefix },
          expiration: { days },
        })),
        {
          id: 'abort-multipart',
          status: 'Enabled',
          filter: { prefix: '' },
          abortIncompleteMultipartUpload: { daysAfterInitiation: UPLOAD_DAYS_MAX },
        },
      ],
    },
    opts,
  );
}
