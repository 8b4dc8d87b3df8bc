import * as aws from '@pulumi/aws';
import type * as pulumi from '@pulumi/pulumi';
import type { Cluster } from './cluster.ts';
import { type Deployment, tagsFor } from './deployment.ts';

/**
 * VPC CNI. `strict`: a new pod may not connect until its policies are loaded; in `standard` mode it may. Strict mode
 * isolates every pod that no policy selects, CoreDNS too: see network-policies.ts.
 * https://docs.aws.amazon.com/eks/latest/userguide/cni-network-policy-configure.html
 */
export const VPC_CNI_CONFIGURATION = {
  enableNetworkPolicy: 'true',
  env: { NETWORK_POLICY_ENFORCING_MODE: 'strict' },
} as const;

interface AddonArgs {
  readonly cluster: Cluster;
  readonly configuration?: unknown;
  readonly roleArn?: pulumi.Input<string>;
  readonly dependsOn: readonly pulumi.Resource[];
}

/** An EKS add-on managed by Pulumi alone: changes made in the cluster are overwritten. */
export function addon(deployment: Deployment, name: string, args: AddonArgs): aws.eks.Addon {
  return new aws.eks.Addon(
    name,
    {
      clusterName: args.cluster.name,
      addonName: name,
      resolveConflictsOnCreate: 'OVERWRITE',
      resolveConflictsOnUpdate: 'OVERWRITE',
      ...(args.configuration ? { configurationValues: JSON.stringify(args.configuration) } : {}),
      ...(args.roleArn ? { serviceAccountRoleArn: args.roleArn } : {}),
      tags: tagsFor(deployment, name),
    },
    { parent: args.cluster, dependsOn: [...args.dependsOn] },
  );
}
