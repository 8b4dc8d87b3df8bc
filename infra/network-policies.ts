import * as k8s from '@pulumi/kubernetes';
import type * as pulumi from '@pulumi/pulumi';

type Spec = k8s.types.input.networking.v1.NetworkPolicySpec;

const EVERYTHING = [{}];

/**
 * VPC CNI in strict mode isolates every pod that no policy selects. Policies for what infra itself starts are here,
 * created before it starts; the manifests contain those of the product's namespaces.
 */
export const PLATFORM_POLICIES = {
  /** DNS for all pods (runners are excluded by their own policy), metrics for Prometheus. */
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
  /** Connects to the API server and to AWS; accepts no connections. */
  'cluster-autoscaler': {
    namespace: 'kube-system',
    spec: {
      podSelector: { matchLabels: { 'app.kubernetes.io/name': 'aws-cluster-autoscaler' } },
      policyTypes: ['Ingress', 'Egress'],
      ingress: [],
      egress: EVERYTHING,
    },
  },
  /** Argo CD's parts connect to each other, to the API server and to git. Its UI is reached by port-forward. */
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

/** Creates one of them. */
export function platformPolicy(
  name: keyof typeof PLATFORM_POLICIES,
  opts: pulumi.CustomResourceOptions,
): k8s.networking.v1.NetworkPolicy {
  const { namespace, spec } = PLATFORM_POLICIES[name];
  // The constant is deeply read-only; Pulumi's types accept only mutable arrays.
  return new k8s.networking.v1.NetworkPolicy(name, { metadata: { name, namespace }, spec: spec as Spec }, opts);
}
