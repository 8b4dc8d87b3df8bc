import { type Document, iamDocument } from './document.ts';

/** A service account of the cluster, as its token names it. */
export interface ServiceAccount {
  readonly namespace: string;
  readonly name: string;
}

/**
 * Lets the pods of one service account assume a role (IRSA). Both claims are compared for equality: without `sub`
 * every pod of the cluster could assume it, without `aud` any token issued for another audience.
 * https://docs.aws.amazon.com/eks/latest/userguide/associate-service-account-role.html
 */
export function serviceAccountTrust(args: {
  oidcProviderArn: string;
  oidcIssuer: string;
  account: ServiceAccount;
}): Document {
  return iamDocument({
    Sid: 'OneServiceAccount',
    Effect: 'Allow',
    Principal: { Federated: args.oidcProviderArn },
    Action: ['sts:AssumeRoleWithWebIdentity'],
    Condition: {
      StringEquals: {
        [`${args.oidcIssuer}:sub`]: `system:serviceaccount:${args.account.namespace}:${args.account.name}`,
        [`${args.oidcIssuer}:aud`]: 'sts.amazonaws.com',
      },
    },
  });
}

/** Lets VPC flow logs assume a role, for this account's resources only (confused deputy protection). */
export function flowLogTrust(accountId: string): Document {
  return iamDocument({
    Sid: 'OneService',
    Effect: 'Allow',
    Principal: { Service: 'vpc-flow-logs.amazonaws.com' },
    Action: ['sts:AssumeRole'],
    Condition: { StringEquals: { 'aws:SourceAccount': accountId } },
  });
}

/**
 * EKS and EC2 assume their roles without naming an account:
 * https://docs.aws.amazon.com/eks/latest/userguide/cluster-iam-role.html
 */
export function serviceTrust(service: 'eks.amazonaws.com' | 'ec2.amazonaws.com'): Document {
  return iamDocument({
    Sid: 'OneService',
    Effect: 'Allow',
    Principal: { Service: service },
    Action: ['sts:AssumeRole'],
  });
}

/** Lets named roles of this account assume a role. */
export function roleTrust(roleArns: readonly string[]): Document {
  return iamDocument({
    Sid: 'NamedRoles',
    Effect: 'Allow',
    Principal: { AWS: roleArns },
    Action: ['sts:AssumeRole'],
  });
}
