import { arrayOf, containerRule, type ManifestRule, podRule, readField } from './rule.ts';

const seccomp = (of: unknown): unknown => readField(of, 'securityContext', 'seccompProfile', 'type');
const hasResource = (container: unknown, kind: 'requests' | 'limits', resource: string): boolean =>
  readField(container, 'resources', kind, resource) !== undefined;
const isSidecar = (container: unknown): boolean => readField(container, 'restartPolicy') === 'Always';
const SECRET_LIKE = /secret|password|token|key|credential|jwks/i;

/** Rules for pods. */
export const POD_RULES: readonly ManifestRule[] = [
  containerRule(
    'run-as-non-root',
    'Root in a container is root on the node after a container escape.',
    (container, pod) =>
      readField(container, 'securityContext', 'runAsNonRoot') === true &&
      Number(readField(pod.spec, 'securityContext', 'runAsUser')) > 0,
  ),
  containerRule(
    'no-read-only-root-fs',
    'An attacker in the container must not be able to change the program.',
    container => readField(container, 'securityContext', 'readOnlyRootFilesystem') === true,
  ),
  containerRule(
    'privilege-escalation-container',
    'A setuid file must not grant more privileges.',
    container => readField(container, 'securityContext', 'allowPrivilegeEscalation') === false,
  ),
  containerRule(
    'privileged-container',
    'A privileged container has full access to its node.',
    container => readField(container, 'securityContext', 'privileged') !== true,
  ),
  containerRule(
    'drop-all-capabilities',
    'No program here needs a capability.',
    container =>
      arrayOf(readField(container, 'securityContext', 'capabilities', 'drop')).includes('ALL') &&
      arrayOf(readField(container, 'securityContext', 'capabilities', 'add')).length === 0,
  ),
  containerRule(
    'seccomp-profile',
    'System calls that no program here makes are kernel attack surface.',
    (container, pod) => ['RuntimeDefault', 'Localhost'].includes(String(seccomp(container) ?? seccomp(pod.spec))),
  ),
  podRule(
    'host-namespaces',
    "A pod in its node's network can reach the kubelet and the metadata service.",
    ({ spec }) => !['hostNetwork', 'hostPID', 'hostIPC'].some(name => readField(spec, name) === true),
  ),
  containerRule('host-port', 'A port of the node can be reached from outside the cluster.', container =>
    arrayOf(readField(container, 'ports')).every(port => readField(port, 'hostPort') === undefined),
  ),
  podRule('sensitive-host-mounts', 'A folder of the node outlives the pod and is shared with others.', ({ spec }) =>
    arrayOf(readField(spec, 'volumes')).every(volume => readField(volume, 'hostPath') === undefined),
  ),
  podRule(
    'sized-empty-dir',
    'An emptyDir without a size limit can fill the disk that all pods on the node share.',
    ({ spec }) =>
      arrayOf(readField(spec, 'volumes')).every(
        volume =>
          readField(volume, 'emptyDir') === undefined || readField(volume, 'emptyDir', 'sizeLimit') !== undefined,
      ),
  ),
  containerRule(
    'unset-cpu-requirements',
    'Without a request the scheduler does not know what the pod needs.',
    container => ['requests', 'limits'].every(kind => hasResource(container, kind as 'requests' | 'limits', 'cpu')),
  ),
  containerRule('unset-memory-requirements', 'Without a limit one page can use all memory of the node.', container =>
    ['requests', 'limits'].every(kind => hasResource(container, kind as 'requests' | 'limits', 'memory')),
  ),
  containerRule(
    'unset-ephemeral-storage',
    'Without a limit downloads fill the disk until the node evicts pods.',
    container =>
      ['requests', 'limits'].every(kind => hasResource(container, kind as 'requests' | 'limits', 'ephemeral-storage')),
  ),
  containerRule('latest-tag', 'With a mutable tag two replicas may run different programs.', container =>
    /(@sha256:[0-9a-f]{64}|:(?!latest$)[\w.-]+)$/.test(String(readField(container, 'image'))),
  ),
  containerRule(
    'image-by-digest',
    'A digest guarantees that the image that runs is the one that was scanned.',
    container => /@sha256:[0-9a-f]{64}$/.test(String(readField(container, 'image'))),
    { exceptIn: ['local'] },
  ),
  containerRule(
    'no-liveness-probe',
    'Only a liveness probe notices a process that hangs.',
    container => isSidecar(container) || readField(container, 'livenessProbe') !== undefined,
  ),
  containerRule(
    'no-readiness-probe',
    'Without it, requests reach a replica that cannot answer yet.',
    container => isSidecar(container) || readField(container, 'readinessProbe') !== undefined,
  ),
  podRule(
    'default-service-account',
    "Rights granted to the account `default` would be every pod's.",
    ({ spec }) => !['', 'undefined', 'default'].includes(String(readField(spec, 'serviceAccountName'))),
  ),
  podRule(
    'automount-service-account-token',
    'Only a pod that uses the API server needs a token for it.',
    ({ spec }) => readField(spec, 'automountServiceAccountToken') === false,
  ),
  podRule(
    'enable-service-links',
    'Service addresses in the environment reveal other sessions of the namespace.',
    ({ spec }) => readField(spec, 'enableServiceLinks') === false,
  ),
  containerRule('env-var-secret', 'A secret in a pod spec appears in backups and in kubectl describe.', container =>
    arrayOf(readField(container, 'env')).every(
      variable => !SECRET_LIKE.test(String(readField(variable, 'name'))) || !isSecretText(readField(variable, 'value')),
    ),
  ),
  podRule(
    'no-topology-spread',
    'Replicas on one node fail with it.',
    ({ spec }) =>
      arrayOf(readField(spec, 'topologySpreadConstraints'))
        .map(constraint => readField(constraint, 'topologyKey'))
        .join() === 'kubernetes.io/hostname,topology.kubernetes.io/zone',
  ),
];

// A path to a token file is not a token.
const isSecretText = (value: unknown): boolean => typeof value === 'string' && !value.startsWith('/');
