import type * as aws from '@pulumi/aws';
import * as pulumi from '@pulumi/pulumi';
import type { Cluster } from './cluster.ts';
import type { Deployment } from './deployment.ts';
import { type ServiceAccount, serviceAccountTrust } from './documents/trust.ts';
import { role } from './role.ts';

/** A role that only the pods of one service account can assume. */
export function serviceAccountRole(
  deployment: Deployment,
  cluster: Cluster,
  name: string,
  args: { description: string; account: ServiceAccount },
  opts: pulumi.CustomResourceOptions = {},
): aws.iam.Role {
  const trust = pulumi
    .all([cluster.oidcProviderArn, cluster.oidcIssuer])
    .apply(([oidcProviderArn, oidcIssuer]) =>
      serviceAccountTrust({ oidcProviderArn, oidcIssuer, account: args.account }),
    );
  return role(deployment, name, { description: args.description, trust }, opts);
}
