import * as k8s from '@pulumi/kubernetes';
import type * as pulumi from '@pulumi/pulumi';

type Spec = k8s.types.input.networking.v1.NetworkPolicySpec;

const EVERYTHING = [{}];

/**
 * VPC CNI in strict mode closes every pod that no policy selects. What infra itself starts is opened here, before it starts;
 * namespaces of the product bring their own policies with their manifests.
 */
export const PLATFORM_POLICIES = {
  /** Names for everybody who may ask (runners may not: their own policy says so), metrics for the scraper. */
  coredns: {
    namespace: 'kube-system',
    spec: {
      podSelector: { matchLabels: { 'k8s-app': 'kube-dns' } },
      policyTypes: ['Ingress', 'Egress'],
      ingress: [
        {
          ports: [
            { protocol: 'UDP', port: 53 },
            { protocol: 'TCP', port: 53 },
            { protocol: 'TCP', port: 9153 },
          ],
        },
      ],
      egress: EVERYTHING, // the API server, and the VPC's resolver
    },
  },
  /** Speaks to the API server and to AWS; nobody speaks to it. */
  'cluster-autoscaler': {
    namespace: 'kube-system',
    spec: {
      podSelector: { matchLabels: { 'app.kubernetes.io/name': 'aws-cluster-autoscaler' } },
      policyTypes: ['Ingress', 'Egress'],
      ingress: [],
      egress: EVERYTHING,
    },
  },
  /** Argo CD's parts speak among each other, to the API server and to git. Its page is reached by port-forward. */
  argocd: {
    namespace: 'argocd',
    spec: {
      podSelector: {},
      policyTypes: ['Ingress', 'Egress'],
      ingress: [{ from: [{ podSelector: {} }] }],
      egress: EVERYTHING,
    },
  },
} as const satisfies Record<string, { namespace: string; spec: Spec }>;

/** Lays one of them down. */
export function platformPolicy(
  name: keyof typeof PLATFORM_POLICIES,
  opts: pulumi.CustomResourceOptions,
): k8s.networking.v1.NetworkPolicy {
  const { namespace, spec } = PLATFORM_POLICIES[name];
  // The constant is read-only through and through; Pulumi's types know mutable arrays only.
  return new k8s.networking.v1.NetworkPolicy(name, { metadata: { name, namespace }, spec: spec as Spec }, opts);
}
