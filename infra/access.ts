import * as aws from '@pulumi/aws';
import * as pulumi from '@pulumi/pulumi';
import type { Cluster } from './cluster.ts';
import type { StackConfig } from './config.ts';
import { type Deployment, tagsFor } from './deployment.ts';

/** https://docs.aws.amazon.com/eks/latest/userguide/access-policy-permissions.html */
const RIGHTS = {
  admin: 'AmazonEKSClusterAdminPolicy',
  viewer: 'AmazonEKSViewPolicy', // no Secrets
} as const;

export const roleArn = (accountId: string, name: string): string => `arn:aws:iam::${accountId}:role/${name}`;

/** Roles that may use the cluster: IAM roles by access entries, no aws-auth ConfigMap. Viewers cannot read Secrets. */
export class Access extends pulumi.ComponentResource {
  constructor(deployment: Deployment, cluster: Cluster, config: StackConfig['cluster']) {
    super('omicron:infra:Access', 'access');
    const allow = (kind: keyof typeof RIGHTS, roleName: string): void => {
      const name = `${kind}-${roleName.replaceAll('/', '-')}`;
      const principalArn = deployment.accountId.apply(id => roleArn(id, roleName));
      const opts = { parent: this, dependsOn: [cluster.ready] };
      const entry = new aws.eks.AccessEntry(
        name,
        { clusterName: cluster.name, principalArn, type: 'STANDARD', tags: tagsFor(deployment, name) },
        opts,
      );
      new aws.eks.AccessPolicyAssociation(
        name,
        {
          clusterName: cluster.name,
          principalArn,
          policyArn: `arn:aws:eks::aws:cluster-access-policy/${RIGHTS[kind]}`,
          accessScope: { type: 'cluster' },
        },
        { ...opts, dependsOn: [entry] },
      );
    };
    for (const name of config.adminRoles) allow('admin', name);
    for (const name of config.viewerRoles) allow('viewer', name);
    this.registerOutputs();
  }
}
