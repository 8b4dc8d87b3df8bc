import type { k8s } from 'cdk8s-plus-28';
import type { Resources } from '../../contract/runner-shapes.ts';
import { quantity } from './meta.ts';

/** All images run as this user; numeric, so that the kubelet can see that it is not root. */
export const USER = 1000;

export const podSecurity: k8s.PodSecurityContext = {
  runAsNonRoot: true,
  runAsUser: USER,
  runAsGroup: USER,
  fsGroup: USER,
  fsGroupChangePolicy: 'OnRootMismatch',
  seccompProfile: { type: 'RuntimeDefault' },
};

export const containerSecurity: k8s.SecurityContext = {
  allowPrivilegeEscalation: false,
  privileged: false,
  readOnlyRootFilesystem: true,
  runAsNonRoot: true,
  capabilities: { drop: ['ALL'] },
};

export const resources = ({ cpu, memory, ephemeralStorage }: Resources): k8s.ResourceRequirements => {
  const at = (index: 0 | 1) => ({
    cpu: quantity(cpu[index]),
    memory: quantity(memory[index]),
    'ephemeral-storage': quantity(ephemeralStorage[index]),
  });
  return { requests: at(0), limits: at(1) };
};

/** Environment variables in a stable order: as written. */
export const plainVariables = (values: Readonly<Record<string, string>>): k8s.EnvVar[] =>
  Object.entries(values).map(([name, value]) => ({ name, value }));

/** Tags and digests here are immutable, so an image that is present is the right one. */
export const PULL = 'IfNotPresent';

export const emptyDir = (name: string, sizeLimit: string, medium?: 'Memory'): k8s.Volume => ({
  name,
  emptyDir: { sizeLimit: quantity(sizeLimit), ...(medium ? { medium } : {}) },
});

/** Spread over nodes and zones as far as there are any; never a reason not to start. */
export const spreadConstraints = (matchLabels: Readonly<Record<string, string>>): k8s.TopologySpreadConstraint[] =>
  ['kubernetes.io/hostname', 'topology.kubernetes.io/zone'].map(topologyKey => ({
    maxSkew: 1,
    topologyKey,
    whenUnsatisfiable: 'ScheduleAnyway',
    labelSelector: { matchLabels },
  }));

/** Additions of EKS's webhook: https://github.com/aws/amazon-eks-pod-identity-webhook */
export const webIdentityToken = (name: string): k8s.Volume => ({
  name,
  projected: {
    sources: [{ serviceAccountToken: { audience: 'sts.amazonaws.com', expirationSeconds: 86_400, path: 'token' } }],
  },
});
