import { ApiObject } from 'cdk8s';
import type { Construct } from 'constructs';
import { manifestsPath } from '../../contract/manifests-path.ts';
import { NAMESPACES } from '../../contract/names.ts';
import type { Environment } from '../environment-type.ts';

const ARGOCD = 'argocd';
const PROJECT = 'omicron-browser';
const apiVersion = 'argoproj.io/v1alpha1';
const IN_CLUSTER = 'https://kubernetes.default.svc';

/** The only kinds that are synced: a ClusterRole or Secret in the repository is ignored. */
const CLUSTER_KINDS = [
  ['', 'Namespace'],
  ['scheduling.k8s.io', 'PriorityClass'],
  ['admissionregistration.k8s.io', 'ValidatingAdmissionPolicy'],
  ['admissionregistration.k8s.io', 'ValidatingAdmissionPolicyBinding'],
] as const;
const SIGNED_IMAGES_KIND = ['policies.kyverno.io', 'ImageValidatingPolicy'] as const;
const NAMESPACED_KINDS = [
  ['', 'ConfigMap'],
  ['', 'LimitRange'],
  ['', 'PodTemplate'],
  ['', 'ResourceQuota'],
  ['', 'Service'],
  ['', 'ServiceAccount'],
  ['apps', 'Deployment'],
  ['networking.k8s.io', 'Ingress'],
  ['networking.k8s.io', 'NetworkPolicy'],
  ['policy', 'PodDisruptionBudget'],
  ['rbac.authorization.k8s.io', 'Role'],
  ['rbac.authorization.k8s.io', 'RoleBinding'],
  ['monitoring.coreos.com', 'ServiceMonitor'],
  ['monitoring.coreos.com', 'PrometheusRule'],
] as const;

const kinds = (list: readonly (readonly [string, string])[]) => list.map(([group, kind]) => ({ group, kind }));

/**
 * Objects that the root Application finds: a project that says what may be synced where, and the Applications. Monitoring has
 * its own, so that a cluster without the Prometheus operator can still sync the rest.
 */
export function applications(scope: Construct, env: Environment): void {
  new ApiObject(scope, 'project', {
    apiVersion,
    kind: 'AppProject',
    metadata: { name: PROJECT, namespace: ARGOCD, annotations: { 'argocd.argoproj.io/sync-wave': '-1' } },
    spec: {
      description: 'Leased browsers for AI agents',
      sourceRepos: [env.gitops.repository],
      destinations: Object.values(NAMESPACES).map(namespace => ({ server: IN_CLUSTER, namespace })),
      clusterResourceWhitelist: kinds([...CLUSTER_KINDS, ...(env.signedImages ? [SIGNED_IMAGES_KIND] : [])]),
      namespaceResourceWhitelist: kinds(NAMESPACED_KINDS),
    },
  });
  application(scope, env, 'omicron-browser', 'core', NAMESPACES.system);
  if (env.monitoringNamespace)
    application(scope, env, 'omicron-browser-monitoring', 'monitoring', NAMESPACES.system, [
      'SkipDryRunOnMissingResource=true',
    ]);
}

function application(
  scope: Construct,
  env: Environment,
  name: string,
  folder: 'core' | 'monitoring',
  namespace: string,
  syncOptions: readonly string[] = [],
): void {
  new ApiObject(scope, `application-${folder}`, {
    apiVersion,
    kind: 'Application',
    metadata: {
      name,
      namespace: ARGOCD,
      finalizers: ['resources-finalizer.argocd.argoproj.io/foreground'],
      annotations: { 'argocd.argoproj.io/sync-wave': '0' },
    },
    spec: {
      project: PROJECT,
      source: {
        repoURL: env.gitops.repository,
        targetRevision: env.gitops.revision,
        path: `${manifestsPath(env.name, env.gitops.repository)}/${folder}`,
        directory: { recurse: true },
      },
      destination: { server: IN_CLUSTER, namespace },
      syncPolicy: {
        automated: { prune: true, selfHeal: true },
        syncOptions: ['ServerSideApply=true', 'ApplyOutOfSyncOnly=true', ...syncOptions],
        retry: { limit: 10, backoff: { duration: '10s', factor: 2, maxDuration: '5m' } },
      },
    },
  });
}
