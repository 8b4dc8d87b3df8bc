import { at, containerRule, list, type ManifestRule, podRule } from './rule.ts';

const seccomp = (of: unknown): unknown => at(of, 'securityContext', 'seccompProfile', 'type');
const has = (container: unknown, kind: 'requests' | 'limits', resource: string): boolean =>
  at(container, 'resources', kind, resource) !== undefined;
const isSidecar = (container: unknown): boolean => at(container, 'restartPolicy') === 'Always';
const SECRET_LIKE = /secret|password|token|key|credential|jwks/i;

/** What a pod must be like. */
export const POD_RULES: readonly ManifestRule[] = [
  containerRule(
    'run-as-non-root',
    'Root in a container is root on the node for whoever finds the way out.',
    (container, pod) =>
      at(container, 'securityContext', 'runAsNonRoot') === true &&
      Number(at(pod.spec, 'securityContext', 'runAsUser')) > 0,
  ),
  containerRule(
    'no-read-only-root-fs',
    'Whoever breaks in must not change the program.',
    container => at(container, 'securityContext', 'readOnlyRootFilesystem') === true,
  ),
  containerRule(
    'privilege-escalation-container',
    'A setuid file must not give more rights.',
    container => at(container, 'securityContext', 'allowPrivilegeEscalation') === false,
  ),
  containerRule(
    'privileged-container',
    'A privileged container is the node.',
    container => at(container, 'securityContext', 'privileged') !== true,
  ),
  containerRule(
    'drop-all-capabilities',
    'No program of ours needs a capability.',
    container =>
      list(at(container, 'securityContext', 'capabilities', 'drop')).includes('ALL') &&
      list(at(container, 'securityContext', 'capabilities', 'add')).length === 0,
  ),
  containerRule(
    'seccomp-profile',
    'System calls that nothing here makes are the kernel holes of next year.',
    (container, pod) => ['RuntimeDefault', 'Localhost'].includes(String(seccomp(container) ?? seccomp(pod.spec))),
  ),
  podRule(
    'host-namespaces',
    "A pod in its node's network reaches the kubelet and the metadata service.",
    ({ spec }) => !['hostNetwork', 'hostPID', 'hostIPC'].some(name => at(spec, name) === true),
  ),
  containerRule('host-port', 'A port of the node is reached from outside the cluster.', container =>
    list(at(container, 'ports')).every(port => at(port, 'hostPort') === undefined),
  ),
  podRule('sensitive-host-mounts', 'A folder of the node outlives the pod and belongs to all.', ({ spec }) =>
    list(at(spec, 'volumes')).every(volume => at(volume, 'hostPath') === undefined),
  ),
  podRule('sized-empty-dir', 'An emptyDir without a size fills the disk of every pod on the node.', ({ spec }) =>
    list(at(spec, 'volumes')).every(
      volume => at(volume, 'emptyDir') === undefined || at(volume, 'emptyDir', 'sizeLimit') !== undefined,
    ),
  ),
  containerRule('unset-cpu-requirements', 'Without a request the scheduler places blindly.', container =>
    ['requests', 'limits'].every(kind => has(container, kind as 'requests' | 'limits', 'cpu')),
  ),
  containerRule('unset-memory-requirements', 'Without a limit one page takes the memory of all.', container =>
    ['requests', 'limits'].every(kind => has(container, kind as 'requests' | 'limits', 'memory')),
  ),
  containerRule('unset-ephemeral-storage', 'Without a limit downloads fill the node until it evicts.', container =>
    ['requests', 'limits'].every(kind => has(container, kind as 'requests' | 'limits', 'ephemeral-storage')),
  ),
  containerRule('latest-tag', 'A tag that moves makes two replicas different programs.', container =>
    /(@sha256:[0-9a-f]{64}|:(?!latest$)[\w.-]+)$/.test(String(at(container, 'image'))),
  ),
  containerRule(
    'image-by-digest',
    'What runs is what was scanned, whoever pushes later.',
    container => /@sha256:[0-9a-f]{64}$/.test(String(at(container, 'image'))),
    { exceptIn: ['local'] },
  ),
  containerRule(
    'no-liveness-probe',
    'A process that hangs is noticed by nobody else.',
    container => isSidecar(container) || at(container, 'livenessProbe') !== undefined,
  ),
  containerRule(
    'no-readiness-probe',
    'Requests reach a replica that cannot answer yet.',
    container => isSidecar(container) || at(container, 'readinessProbe') !== undefined,
  ),
  podRule(
    'default-service-account',
    "Rights that somebody gives `default` would be every pod's.",
    ({ spec }) => !['', 'undefined', 'default'].includes(String(at(spec, 'serviceAccountName'))),
  ),
  podRule(
    'automount-service-account-token',
    'A token for the API server belongs where the API server is used.',
    ({ spec }) => at(spec, 'automountServiceAccountToken') === false,
  ),
  podRule(
    'enable-service-links',
    'Addresses of all Services of the namespace in the environment tell about other sessions.',
    ({ spec }) => at(spec, 'enableServiceLinks') === false,
  ),
  containerRule('env-var-secret', 'A secret in a pod spec is in every backup and every kubectl describe.', container =>
    list(at(container, 'env')).every(
      variable => !SECRET_LIKE.test(String(at(variable, 'name'))) || !isSecretText(at(variable, 'value')),
    ),
  ),
  podRule(
    'no-topology-spread',
    'Replicas on one node end with it.',
    ({ spec }) =>
      list(at(spec, 'topologySpreadConstraints'))
        .map(constraint => at(constraint, 'topologyKey'))
        .join() === 'kubernetes.io/hostname,topology.kubernetes.io/zone',
  ),
];

// A path to a token file is not a token.
const isSecretText = (value: unknown): boolean => typeof value === 'string' && !value.startsWith('/');
