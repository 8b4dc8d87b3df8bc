import { add, both, type Change, inPod, remove, set } from './broken.ts';

const [CONTROLLER, EGRESS, RUNNER] = ['browser-session-controller', 'egress-proxy', 'pw-mcp-runner'];
const runner = (path: string, value?: unknown): Change => inPod('PodTemplate', RUNNER, path, value);
const controller = (path: string, value?: unknown): Change => inPod('Deployment', CONTROLLER, path, value);
const ANY_PEER = { podSelector: {}, policyTypes: ['Ingress', 'Egress'] };

/** For each rule a change of the manifests that breaks it, and no other. */
export const BREAKS: Readonly<Record<string, Change>> = {
  'run-as-non-root': runner('securityContext.runAsUser', 0),
  'no-read-only-root-fs': runner('containers.0.securityContext.readOnlyRootFilesystem', false),
  'privilege-escalation-container': controller('containers.0.securityContext.allowPrivilegeEscalation'),
  'privileged-container': controller('containers.0.securityContext.privileged', true),
  'drop-all-capabilities': runner('initContainers.0.securityContext.capabilities.add', ['SYS_ADMIN']),
  'seccomp-profile': runner('containers.0.securityContext.seccompProfile.type', 'Unconfined'),
  'host-namespaces': runner('hostNetwork', true),
  'host-port': controller('containers.0.ports.0.hostPort', 8080),
  'sensitive-host-mounts': runner('volumes.-', { name: 'host', hostPath: { path: '/' } }),
  'sized-empty-dir': runner('volumes.0.emptyDir.sizeLimit'),
  'unset-cpu-requirements': controller('containers.0.resources.limits.cpu'),
  'unset-memory-requirements': controller('containers.0.resources.requests.memory'),
  'unset-ephemeral-storage': runner('containers.0.resources.limits.ephemeral-storage'),
  'latest-tag': controller('containers.0.image', 'localhost/omicron-browser-controller:latest'),
  'image-by-digest': controller('containers.0.image', 'registry.test/controller:1.2.3'),
  'no-liveness-probe': controller('containers.0.livenessProbe'),
  'no-readiness-probe': runner('containers.0.readinessProbe'),
  'default-service-account': runner('serviceAccountName'),
  'automount-service-account-token': runner('automountServiceAccountToken'),
  'enable-service-links': runner('enableServiceLinks'),
  'env-var-secret': controller('containers.0.env.-', { name: 'OMICRON_SIGNING_KEY', value: 'in plain sight' }),
  'no-topology-spread': runner('topologySpreadConstraints', []),
  'no-secret-object': add('v1', 'Secret', 'loot', 'omicron'),
  'access-to-secrets': set('Role', CONTROLLER, 'rules.0.resources.-', 'secrets'),
  'access-to-create-pods': add('rbac.authorization.k8s.io/v1', 'Role', 'more', 'omicron', {
    rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['create'] }],
  }),
  'wildcard-in-rules': set('Role', CONTROLLER, 'rules.0.verbs.-', '*'),
  'cluster-wide-rights': add('rbac.authorization.k8s.io/v1', 'ClusterRole', 'more', undefined, { rules: [] }),
  'service-account-automount': set('ServiceAccount', 'egress-proxy-sa', 'automountServiceAccountToken', undefined),
  'exposed-services': set('Service', CONTROLLER, 'spec.type', 'LoadBalancer'),
  'dangling-service': set('Service', EGRESS, 'spec.selector', { app: 'egress' }),
  'dangling-servicemonitor': set('ServiceMonitor', EGRESS, 'spec.endpoints.0.port', 'metrics'),
  'minimum-two-replicas': set('Deployment', CONTROLLER, 'spec.replicas', 1),
  'rolling-update-strategy': set('Deployment', EGRESS, 'spec.strategy.rollingUpdate.maxUnavailable', 1),
  'no-disruption-budget': remove('PodDisruptionBudget', EGRESS),
  'pdb-max-unavailable': set('PodDisruptionBudget', EGRESS, 'spec.maxUnavailable', 0),
  'admission-policy-unbound': remove('ValidatingAdmissionPolicyBinding', 'runner-pod-image'),
  'application-heals': set('Application', 'omicron-browser', 'spec.syncPolicy.automated.selfHeal', false),
  'runner-namespace-without-secrets': runner('containers.0.env.-', {
    name: 'HOME',
    valueFrom: { secretKeyRef: { name: 'a', key: 'b' } },
  }),
  'no-default-deny': remove('NetworkPolicy', 'default-deny', 'omicron'),
  'pod-security-restricted': set('Namespace', 'omicron-browser', 'metadata.labels', {
    'pod-security.kubernetes.io/enforce': 'baseline',
  }),
  // A workload in a namespace that these manifests do not isolate.
  'non-isolated-pod': both(
    set('Deployment', EGRESS, 'metadata.namespace', 'elsewhere'),
    set('PodDisruptionBudget', EGRESS, 'metadata.namespace', 'elsewhere'),
    set('Service', EGRESS, 'metadata.namespace', 'elsewhere'),
    remove('NetworkPolicy', EGRESS),
  ),
  'dangling-networkpolicy': add('networking.k8s.io/v1', 'NetworkPolicy', 'stale', 'omicron-browser-system', {
    spec: { podSelector: { matchLabels: { app: 'gone' } }, policyTypes: ['Ingress', 'Egress'] },
  }),
  'peer-without-end': set('NetworkPolicy', 'controller', 'spec.ingress.0.from', undefined),
  'internet-without-private-ranges': set('NetworkPolicy', EGRESS, 'spec.egress.2.to.0.ipBlock.except', ['10.0.0.0/8']),
  'one-policy-for-runners': add('networking.k8s.io/v1', 'NetworkPolicy', 'session-1', 'omicron-browser', {
    spec: ANY_PEER,
  }),
  'runner-egress-endpoints': set('NetworkPolicy', 'runners', 'spec.egress.0.ports.-', { protocol: 'UDP', port: 53 }),
};
