import { at, kindRule, list, type Manifest, type ManifestRule, matches, pods } from './rule.ts';

const inNamespaceOf = (manifest: Manifest, all: readonly Manifest[]): readonly Manifest[] =>
  all.filter(({ metadata }) => metadata.namespace === manifest.metadata.namespace);
const SENSITIVE = ['secrets', 'configmaps', 'serviceaccounts/token', 'pods/exec', 'pods/attach', 'pods/portforward'];
const grants = (manifest: Manifest, ...resources: readonly string[]): boolean =>
  list(manifest.rules).some(rule => list(at(rule, 'resources')).some(each => resources.includes(String(each))));
const grantsPods = (manifest: Manifest): boolean =>
  list(manifest.rules).some(
    rule => list(at(rule, 'resources')).includes('pods') && list(at(rule, 'verbs')).includes('create'),
  );
const rolled = (manifest: Manifest): unknown => at(manifest, 'spec', 'strategy', 'rollingUpdate', 'maxUnavailable');

/** Rules over objects other than pods. */
export const OBJECT_RULES: readonly ManifestRule[] = [
  kindRule(
    'Secret',
    'no-secret-object',
    'A committed Secret can be read by everyone with access to the repository.',
    () => false,
  ),
  kindRule(
    'Role',
    'access-to-secrets',
    'Reading Secrets, or entering pods that hold them, gives the rights of their owner.',
    role => !grants(role, ...SENSITIVE),
  ),
  kindRule(
    'Role',
    'access-to-create-pods',
    'The right to create pods gives access to every Secret of the namespace.',
    role => !grantsPods(role),
  ),
  kindRule('Role', 'wildcard-in-rules', 'A wildcard also grants resources and verbs that are added later.', role =>
    list(role.rules).every(
      rule =>
        !['apiGroups', 'resources', 'verbs'].some(part =>
          list(at(rule, part)).some(each => String(each).includes('*')),
        ),
    ),
  ),
  {
    name: 'cluster-wide-rights',
    reason: 'Rights in one namespace are enough; the cluster has other tenants.',
    check: manifests =>
      manifests
        .filter(({ kind }) => kind === 'ClusterRole' || kind === 'ClusterRoleBinding')
        .map(manifest => ({ manifest, message: manifest.kind })),
  },
  kindRule(
    'ServiceAccount',
    'service-account-automount',
    'Without it, a pod that does not opt out gets a token.',
    account => account.automountServiceAccountToken === false,
  ),
  kindRule(
    'Service',
    'exposed-services',
    'Only the API and the front end are public (O9).',
    service => at(service, 'spec', 'type') === 'ClusterIP' && list(at(service, 'spec', 'externalIPs')).length === 0,
  ),
  kindRule('Service', 'dangling-service', 'Calls to a Service without pods time out.', (service, all) =>
    pods(inNamespaceOf(service, all)).some(pod => matches(at(service, 'spec', 'selector'), pod.labels)),
  ),
  kindRule(
    'ServiceMonitor',
    'dangling-servicemonitor',
    'Without a matching Service there are no metrics, so alerts never fire.',
    (monitor, all) =>
      all.some(
        service =>
          service.kind === 'Service' &&
          matches(at(monitor, 'spec', 'selector', 'matchLabels'), service.metadata.labels ?? {}) &&
          list(at(monitor, 'spec', 'endpoints')).every(endpoint =>
            list(at(service, 'spec', 'ports')).some(port => at(port, 'name') === at(endpoint, 'port')),
          ),
      ),
  ),
  kindRule(
    'Deployment',
    'minimum-two-replicas',
    'A single replica is unavailable while its node restarts.',
    deployment => Number(at(deployment, 'spec', 'replicas')) >= 2,
  ),
  kindRule(
    'Deployment',
    'rolling-update-strategy',
    'A rollout must add a replica before it removes one.',
    deployment => rolled(deployment) === 0,
  ),
  kindRule(
    'Deployment',
    'no-disruption-budget',
    'Without a budget a drain may evict all replicas at once.',
    (deployment, all) =>
      inNamespaceOf(deployment, all).some(
        budget =>
          budget.kind === 'PodDisruptionBudget' &&
          matches(at(budget, 'spec', 'selector', 'matchLabels'), pods([deployment])[0]?.labels ?? {}),
      ),
  ),
  kindRule(
    'PodDisruptionBudget',
    'pdb-max-unavailable',
    'With a budget of zero a node can never be drained.',
    budget => Number(at(budget, 'spec', 'maxUnavailable')) > 0,
  ),
  kindRule(
    'ValidatingAdmissionPolicy',
    'admission-policy-unbound',
    'An admission policy that has no denying binding, or is ignored when it fails, enforces nothing.',
    (policy, all) =>
      at(policy, 'spec', 'failurePolicy') === 'Fail' &&
      all.some(
        binding =>
          binding.kind === 'ValidatingAdmissionPolicyBinding' &&
          at(binding, 'spec', 'policyName') === policy.metadata.name &&
          list(at(binding, 'spec', 'validationActions')).includes('Deny'),
      ),
  ),
  kindRule(
    'Application',
    'application-heals',
    'Manual changes and forgotten objects must not persist.',
    application =>
      at(application, 'spec', 'syncPolicy', 'automated', 'prune') === true &&
      at(application, 'spec', 'syncPolicy', 'automated', 'selfHeal') === true &&
      list(at(application, 'spec', 'syncPolicy', 'syncOptions')).includes('ServerSideApply=true'),
  ),
  {
    name: 'runner-namespace-without-secrets',
    reason: 'The right to create runners gives access to every Secret in their namespace.',
    check: manifests => {
      const runners = pods(manifests).filter(({ manifest }) => manifest.kind === 'PodTemplate');
      return runners
        .filter(({ spec }) => JSON.stringify(spec).match(/secretKeyRef|"secretRef"|"secret":/))
        .map(({ manifest }) => ({ manifest, message: 'the template refers to a Secret' }));
    },
  },
];
