import type { Finding, Rule } from './rule.ts';

/** A finding that stays, and why. It names one resource, and one statement where the finding is one of a document. */
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
    reason: 'The Describe actions of Auto Scaling and EC2 know no narrower resource than *; each action is named.',
  },
  ...['platform', 'secrets'].map(resource => ({
    rule: 'no-wildcard-grant',
    type: 'aws:kms/key:Key',
    resource,
    statement: 'AccountDecidesByIam',
    reason:
      'Without it nobody can ever administer the key again; rights come from IAM: https://docs.aws.amazon.com/kms/latest/developerguide/key-policy-default.html',
  })),
];

export const waives = (waiver: Waiver, rule: Rule, finding: Finding): boolean =>
  waiver.rule === rule.name &&
  waiver.type === finding.resource.type &&
  waiver.resource === finding.resource.name &&
  waiver.statement === finding.statement;
