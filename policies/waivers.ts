import type { Finding, Rule } from './rule.ts';

/** An accepted finding, with its reason. It names one resource, and the statement if the finding is in a document. */
export interface Waiver {
  readonly rule: string;
  readonly type: string;
  readonly resource: string;
  readonly statement?: string;
  readonly reason: string;
}

export const WAIVERS: readonly Waiver[] = [
  {
    rule: 'bucket-encrypted-with-own-key',
    type: 'aws:s3/bucket:Bucket',
    resource: 'access-log',
    reason:
      'S3 delivers access logs only to buckets under its own key: https://docs.aws.amazon.com/AmazonS3/latest/userguide/enable-server-access-logging.html',
  },
  {
    rule: 'no-wildcard-grant',
    type: 'aws:iam/rolePolicy:RolePolicy',
    resource: 'cluster-autoscaler',
    statement: 'LookAtGroups',
    reason: 'The Describe actions of Auto Scaling and EC2 support no resource but *; each action is named.',
  },
  ...['platform', 'secrets'].map(resource => ({
    rule: 'no-wildcard-grant',
    type: 'aws:kms/key:Key',
    resource,
    statement: 'AccountDecidesByIam',
    reason:
      'Without it the key can never be administered again; rights come from IAM: https://docs.aws.amazon.com/kms/latest/developerguide/key-policy-default.html',
  })),
];

export const isWaivedBy = (waiver: Waiver, rule: Rule, finding: Finding): boolean =>
  waiver.rule === rule.name &&
  waiver.type === finding.resource.type &&
  waiver.resource === finding.resource.name &&
  waiver.statement === finding.statement;
