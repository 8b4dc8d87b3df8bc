import * as k8s from '@pulumi/kubernetes';
import type * as pulumi from '@pulumi/pulumi';
import { SERVICE_ACCOUNTS } from '../contract/names.ts';
import type { Deployment } from './deployment.ts';

export const AUTOSCALER_ACCOUNT = { namespace: 'kube-system', name: SERVICE_ACCOUNTS.clusterAutoscaler } as const;

/**
 * Cluster autoscaler from its chart: adds browser nodes while runners are pending, removes nodes that stay empty
 * (O16).
 */
export function clusterAutoscaler(
  deployment: Deployment,
  args: { clusterName: string; roleArn: pulumi.Input<string> },
  opts: pulumi.CustomResourceOptions,
): k8s.helm.v3.Release {
  return new k8s.helm.v3.Release(
    'cluster-autoscaler',
    {
      name: 'cluster-autoscaler',
      namespace: AUTOSCALER_ACCOUNT.namespace,
      chart: 'cluster-autoscaler',
      version: '9.57.0',
      repositoryOpts: { repo: 'https://kubernetes.github.io/autoscaler' },
      values: {
        cloudProvider: 'aws',
        awsRegion: deployment.region,
        autoDiscovery: { clusterName: args.clusterName },
        rbac: {
          serviceAccount: {
            name: AUTOSCALER_ACCOUNT.name,
            annotations: { 'eks.amazonaws.com/role-arn': args.roleArn },
          },
        },
        extraArgs: {
          'balance-similar-node-groups': true,
          // A runner is a bare pod without a replica: the autoscaler never drains a node that holds one.
          'skip-nodes-with-local-storage': true,
          'scale-down-unneeded-time': '10m',
          expander: 'least-waste',
        },
        securityContext: { runAsNonRoot: true, runAsUser: 65534, seccompProfile: { type: 'RuntimeDefault' } },
        containerSecurityContext: {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        },
        resources: { requests: { cpu: '50m', memory: '256Mi' }, limits: { memory: '512Mi' } },
      },
    },
    opts,
  );
}
