import { manifestsPath } from '../contract/manifests-path.ts';
import type { StackConfig } from './config.ts';

export const ARGOCD = 'argocd';

/**
 * The Application that syncs everything else in the cluster. The finalizer makes `pulumi destroy` delete what it
 * synced before Argo CD itself goes, so that load balancers and volumes of the cluster do not outlive it.
 * https://argo-cd.readthedocs.io/en/stable/operator-manual/cluster-bootstrapping/
 */
export const rootApplication = (env: string, config: StackConfig['gitops']) => ({
  apiVersion: 'argoproj.io/v1alpha1',
  kind: 'Application',
  metadata: { name: 'root', namespace: ARGOCD, finalizers: ['resources-finalizer.argocd.argoproj.io'] },
  spec: {
    project: 'default',
    source: {
      repoURL: config.repository,
      targetRevision: config.revision,
      path: manifestsPath(env, config.repository),
      directory: { recurse: false },
    },
    destination: { server: 'https://kubernetes.default.svc', namespace: ARGOCD },
    syncPolicy: {
      automated: { prune: true, selfHeal: true },
      syncOptions: ['ServerSideApply=true'],
      retry: { limit: 10, backoff: { duration: '10s', factor: 2, maxDuration: '5m' } },
    },
  },
});
