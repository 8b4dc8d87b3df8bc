import { arrayOf, kindRule, type Manifest, type ManifestRule, matchesLabels, podsOf, readField } from './rule.ts';

const policies = (all: readonly Manifest[], namespace: string | undefined): readonly Manifest[] =>
  all.filter(({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.namespace === namespace);
const selector = (policy: Manifest): unknown => readField(policy, 'spec', 'podSelector', 'matchLabels');
const bothWays = (policy: Manifest): boolean =>
  ['Ingress', 'Egress'].every(way => arrayOf(readField(policy, 'spec', 'policyTypes')).includes(way));
const isForAll = (policy: Manifest): boolean => Object.keys(Object(selector(policy))).length === 0;
const rulesOf = (policy: Manifest): readonly unknown[] => [
  ...arrayOf(readField(policy, 'spec', 'ingress')),
  ...arrayOf(readField(policy, 'spec', 'egress')),
];
const peers = (rule: unknown): readonly unknown[] => [
  ...arrayOf(readField(rule, 'to')),
  ...arrayOf(readField(rule, 'from')),
];
const PRIVATE = ['10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.168.0.0/16'];

/** Which pods may connect to which. */
export const NETWORK_RULES: readonly ManifestRule[] = [
  kindRule(
    'Namespace',
    'no-default-deny',
    'Without a default deny, a new pod may connect anywhere until it has a policy.',
    (namespace, all) => policies(all, namespace.metadata.name).some(policy => isForAll(policy) && bothWays(policy)),
  ),
  kindRule(
    'Namespace',
    'pod-security-restricted',
    'Without the labels, privileged pods are admitted.',
    ({ metadata }) =>
      ['enforce', 'audit', 'warn'].every(
        mode =>
          metadata.labels?.[`pod-security.kubernetes.io/${mode}`] === 'restricted' &&
          /^v1\.\d+$/.test(metadata.labels[`pod-security.kubernetes.io/${mode}-version`] ?? ''),
      ),
  ),
  {
    name: 'non-isolated-pod',
    reason: 'A pod that only the default policy selects either cannot connect at all or may connect anywhere.',
    check: manifests =>
      podsOf(manifests)
        .filter(
          pod =>
            !policies(manifests, pod.manifest.metadata.namespace).some(
              policy => bothWays(policy) && matchesLabels(selector(policy), pod.labels),
            ),
        )
        .map(({ manifest }) => ({ manifest, message: 'no policy selects its pods' })),
  },
  kindRule('NetworkPolicy', 'dangling-networkpolicy', 'A policy that selects no pod protects none.', (policy, all) => {
    const made = podsOf(all).filter(({ manifest }) => manifest.metadata.namespace === policy.metadata.namespace);
    return isForAll(policy) || made.some(pod => matchesLabels(selector(policy), pod.labels));
  }),
  kindRule(
    'NetworkPolicy',
    'peer-without-end',
    'A rule without peers or ports allows every peer or every port.',
    policy =>
      rulesOf(policy).every(
        rule =>
          peers(rule).length > 0 && (arrayOf(readField(rule, 'ports')).length > 0 || peers(rule).every(isTestDouble)),
      ),
  ),
  kindRule(
    'NetworkPolicy',
    'internet-without-private-ranges',
    'Half the internet is the metadata service, the nodes and the databases.',
    policy =>
      rulesOf(policy)
        .flatMap(peers)
        .filter(peer => readField(peer, 'ipBlock', 'cidr') === '0.0.0.0/0')
        .every(peer => PRIVATE.every(range => arrayOf(readField(peer, 'ipBlock', 'except')).includes(range))),
  ),
  {
    name: 'one-policy-for-runners',
    reason: "The VPC CNI's agent tells pods apart by name, not by label: two policies would mix.",
    check: manifests =>
      podsOf(manifests)
        .filter(({ manifest }) => manifest.kind === 'PodTemplate')
        .filter(({ manifest }) => {
          const found = policies(manifests, manifest.metadata.namespace);
          return found.length !== 1 || !found.every(isForAll);
        })
        .map(({ manifest }) => ({ manifest, message: 'its namespace needs exactly one policy, for all pods' })),
  },
  {
    name: 'runner-egress-endpoints',
    reason: 'A runner reaches only the egress proxy and the controller; DNS could exfiltrate data.',
    check: manifests =>
      podsOf(manifests)
        .filter(({ manifest }) => manifest.kind === 'PodTemplate')
        .flatMap(({ manifest }) => policies(manifests, manifest.metadata.namespace))
        .filter(policy =>
          arrayOf(readField(policy, 'spec', 'egress')).some(
            rule =>
              arrayOf(readField(rule, 'ports')).some(
                port => readField(port, 'protocol') !== 'TCP' || readField(port, 'port') === 53,
              ) || peers(rule).some(peer => !readField(peer, 'podSelector', 'matchLabels', 'app')),
          ),
        )
        .map(manifest => ({ manifest, message: 'an egress rule allows another destination' })),
  },
];

/** Pods that take the place of the internet in tests: any port, like the internet. */
const isTestDouble = (peer: unknown): boolean =>
  readField(peer, 'podSelector', 'matchLabels', 'omicron.dev/stands-for') === 'internet';
