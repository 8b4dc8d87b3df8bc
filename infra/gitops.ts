import * as k8s from '@pulumi/kubernetes';
import * as pulumi from '@pulumi/pulumi';
import type { StackConfig } from './config.ts';
import type { Deployment } from './deployment.ts';
import { platformPolicy } from './network-policies.ts';
import { ARGOCD, rootApplication } from './root-application.ts';

/** Argo CD, installed from its chart, and the root Application. After this the cluster follows the repository. */
export class GitOps extends pulumi.ComponentResource {
  constructor(
    deployment: Deployment,
    args: { provider: k8s.Provider; config: StackConfig['gitops']; dependsOn: readonly pulumi.Resource[] },
  ) {
    super('omicron:infra:GitOps', 'gitops');
    const opts = { parent: this, provider: args.provider };
    const namespace = new k8s.core.v1.Namespace(
      ARGOCD,
      { metadata: { name: ARGOCD, labels: { 'pod-security.kubernetes.io/enforce': 'baseline' } } },
      { ...opts, dependsOn: [...args.dependsOn] },
    );
    const policy = platformPolicy('argocd', { ...opts, dependsOn: [namespace] });
    const replicas = deployment.protect ? 2 : 1;
    const release = new k8s.helm.v3.Release(
      'argocd',
      {
        name: 'argocd',
        namespace: ARGOCD,
        chart: 'argo-cd',
        version: '10.1.1', // Argo CD 3.4
        repositoryOpts: { repo: 'https://argoproj.github.io/argo-helm' },
        values: {
          // No public UI, no SSO, no notifications: it only syncs.
          dex: { enabled: false },
          notifications: { enabled: false },
          applicationSet: { replicas: 1 },
          server: { replicas, service: { type: 'ClusterIP' } },
          repoServer: { replicas },
          configs: { cm: { 'exec.enabled': 'false' }, params: { 'server.insecure': 'false' } },
        },
      },
      { ...opts, dependsOn: [policy] },
    );
    new k8s.apiextensions.CustomResource('root', rootApplication(deployment.env, args.config), {
      ...opts,
      dependsOn: [release],
    });
    this.registerOutputs();
  }
}
