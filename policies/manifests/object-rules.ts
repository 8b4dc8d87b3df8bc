import { arrayOf, kindRule, type Manifest, type ManifestRule, matchesLabels, podsOf, readField } from './rule.ts';

const inNamespaceOf = (manifest: Manifest, all: readonly Manifest[]): readonly Manifest[] =>
  all.filter(({ metadata }) => metadata.namespace === manifest.metadata.namespace);
const SENSITIVE = ['secrets', 'configmaps', 'serviceaccounts/token', 'pods/exec', 'pods/attach', 'pods/portforward'];
const grants = (manifest: Manifest, ...resources: readonly string[]): boolean =>
  arrayOf(manifest.rules).some(rule =>
    arrayOf(readField(rule, 'resources')).some(each => resources.includes(String(each))),
  );
const grantsPods = (manifest: Manifest): boolean =>
  arrayOf(manifest.rules).some(
    rule =>
      arrayOf(readField(rule, 'resources')).includes('pods') && arrayOf(readField(rule, 'verbs')).includes('create'),
  );
const maxUnavailable = (manifest: Manifest): unknown =>
  readField(manifest, 'spec', 'strategy', 'rollingUpdate', 'maxUnavailable');

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
    arrayOf(role.rules).every(
      rule =>
        !['apiGroups', 'resources', 'verbs'].some(part =>
          arrayOf(readField(rule, part)).some(each => String(each).includes('*')),
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
    service =>
      readField(service, 'spec', 'type') === 'ClusterIP' &&
      arrayOf(readField(service, 'spec', 'externalIPs')).length === 0,
  ),
  kindRule('Service', 'dangling-service', 'Calls to a Service without pods time out.', (service, all) =>
    podsOf(inNamespaceOf(service, all)).some(pod => matchesLabels(readField(service, 'spec', 'selector'), pod.labels)),
  ),
  kindRule(
    'ServiceMonitor',
    'dangling-servicemonitor',
    'Without a matching Service there are no metrics, so alerts never fire.',
    (monitor, all) =>
      all.some(
        service =>
          service.kind === 'Service' &&
          matchesLabels(readField(monitor, 'spec', 'selector', 'matchLabels'), service.metadata.labels ?? {}) &&
          arrayOf(readField(monitor, 'spec', 'endpoints')).every(endpoint =>
            arrayOf(readField(service, 'spec', 'ports')).some(
              port => readField(port, 'name') === readField(endpoint, 'port'),
            ),
          ),
      ),
  ),
  kindRule(
    'Deployment',
    'minimum-two-replicas',
    'A single replica is unavailable while its node restarts.',
    deployment => Number(readField(deployment, 'spec', 'replicas')) >= 2,
  ),
  kindRule(
    'Deployment',
    'rolling-update-strategy',
    'A rollout must add a replica before it removes one.',
    deployment => maxUnavailable(deployment) === 0,
  ),
  kindRule(
    'Deployment',
    'no-disruption-budget',
    'Without a budget a drain may evict all replicas at once.',
    (deployment, all) =>
      inNamespaceOf(deployment, all).some(
        budget =>
          budget.kind === 'PodDisruptionBudget' &&
          matchesLabels(readField(budget, 'spec', 'selector', 'matchLabels'), podsOf([deployment])[0]?.labels ?? {}),
      ),
  ),
  kindRule(
    'PodDisruptionBudget',
    'pdb-max-unavailable',
    'With a budget of zero a node can never be drained.',
    budget => Number(readField(budget, 'spec', 'maxUnavailable')) > 0,
  ),
  kindRule(
    'ValidatingAdmissionPolicy',
    'admission-policy-unbound',
    'An admission policy that has no denying binding, or is ignored when it fails, enforces nothing.',
    (policy, all) =>
      readField(policy, 'spec', 'failurePolicy') === 'Fail' &&
      all.some(
        binding =>
          binding.kind === 'ValidatingAdmissionPolicyBinding' &&
          readField(binding, 'spec', 'policyName') === policy.metadata.name &&
          arrayOf(readField(binding, 'spec', 'validationActions')).includes('Deny'),
      ),
  ),
  kindRule(
    'Application',
    'application-heals',
    'Manual changes and forgotten objects must not persist.',
    application =>
      readField(application, 'spec', 'syncPolicy', 'automated', 'prune') === true &&
      readField(application, 'spec', 'syncPolicy', 'automated', 'selfHeal') === true &&
      arrayOf(readField(application, 'spec', 'syncPolicy', 'syncOptions')).includes('ServerSideApply=true'),
  ),
  {
    name: 'runner-namespace-without-secrets',
    reason: 'The right to create runners gives access to every Secret in their namespace.',
    check: manifests => {
      const runners = podsOf(manifests).filter(({ manifest }) => manifest.kind === 'PodTemplate');
      return runners
        .filter(({ spec }) => JSON.stringify(spec).match(/secretKeyRef|"secretRef"|"secret":/))
        .map(({ manifest }) => ({ manifest, message: 'the template refers to a Secret' }));
    },
  },
];
