import { beforeAll, describe, expect, test } from 'vitest';
import { type CapturedStack, capture, stackConfig } from './capture.ts';
import { all, one } from './find.ts';

const stacks: Record<string, CapturedStack> = {};
beforeAll(async () => {
  for (const env of ['dev', 'prod']) stacks[env] = await capture(stackConfig(env));
});
const stackOf = (env: string): CapturedStack => stacks[env] ?? { resources: [], outputs: {} };
const bucketName = (env: string, kind: string): string => `omicron-browser-${env}-${kind}-111122223333-eu-central-1`;

describe.each(['dev', 'prod'])('[O15] the recordings of %s', env => {
  test('has one bucket for recordings and one for its access log, named for account and region', () => {
    expect(
      all(stackOf(env), 'Bucket')
        .map(({ props }) => props.bucket)
        .sort(),
    ).toEqual([bucketName(env, 'artifacts'), bucketName(env, 'log')].sort());
    expect(stackOf(env).outputs.artifactsBucket).toBe(bucketName(env, 'artifacts'));
  });

  test('encrypts recordings by default under the artifacts key, with a bucket key, and takes no key of the caller', () => {
    expect(one(stackOf(env), 'BucketServerSideEncryptionConfiguration', 'artifacts').props).toMatchObject({
      bucket: bucketName(env, 'artifacts'),
      rules: [
        {
          applyServerSideEncryptionByDefault: {
            sseAlgorithm: 'aws:kms',
            kmsMasterKeyId: 'arn:aws:kms:eu-central-1:111122223333:key/artifacts',
          },
          bucketKeyEnabled: true,
          blockedEncryptionTypes: ['SSE-C'],
        },
      ],
    });
  });

  test('deletes recordings after seven days and forgets uploads that never ended once no lease is that old', () => {
    const { rules } = one(stackOf(env), 'BucketLifecycleConfiguration', 'artifacts').props;
    expect(rules).toEqual([
      { id: 'expire', status: 'Enabled', filter: { prefix: 'pw-videos/' }, expiration: { days: 7 } },
      { id: 'expire-pages', status: 'Enabled', filter: { prefix: 'pw-pages/' }, expiration: { days: 7 } },
      {
        id: 'abort-multipart',
        status: 'Enabled',
        filter: { prefix: '' },
        abortIncompleteMultipartUpload: { daysAfterInitiation: 8 },
      },
    ]);
  });

  test.each(['artifacts', 'access-log'])('blocks every way to make %s public, and ACLs', name => {
    expect(one(stackOf(env), 'BucketPublicAccessBlock', name).props).toMatchObject({
      blockPublicAcls: true,
      blockPublicPolicy: true,
      ignorePublicAcls: true,
      restrictPublicBuckets: true,
    });
    expect(one(stackOf(env), 'BucketOwnershipControls', name).props).toMatchObject({
      rule: { objectOwnership: 'BucketOwnerEnforced' },
    });
  });

  test('logs who read a recording', () => {
    expect(one(stackOf(env), 'BucketLogging', 'artifacts').props).toMatchObject({
      bucket: bucketName(env, 'artifacts'),
      targetBucket: bucketName(env, 'log'),
    });
    const policy = JSON.parse(String(one(stackOf(env), 'BucketPolicy', 'access-log').props.policy));
    expect(policy.Statement).toContainEqual(
      expect.objectContaining({
        Effect: 'Allow',
        Principal: { Service: 'logging.s3.amazonaws.com' },
        Condition: {
          ArnLike: { 'aws:SourceArn': `arn:aws:s3:::${bucketName(env, 'artifacts')}` },
          StringEquals: { 'aws:SourceAccount': '111122223333' },
        },
      }),
    );
  });
});

test('dev empties its buckets when it is destroyed; prod keeps them, and a deleted key can be had back for a month', () => {
  for (const name of ['artifacts', 'access-log']) {
    expect(one(stackOf('dev'), 'Bucket', name)).toMatchObject({ protect: false, props: { forceDestroy: true } });
    expect(one(stackOf('prod'), 'Bucket', name)).toMatchObject({ protect: true, props: { forceDestroy: false } });
  }
  expect(one(stackOf('dev'), 'Key', 'artifacts').props.deletionWindowInDays).toBe(7);
  expect(one(stackOf('prod'), 'Key', 'artifacts').props.deletionWindowInDays).toBe(30);
});
