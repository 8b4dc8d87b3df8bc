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

/** What objects other than pods must be like. */
export const OBJECT_RULES: readonly ManifestRule[] = [
  kindRule(
    'Secret',
    'no-secret-object',
    'What is committed is read by everybody who reads the repository.',
    () => false,
  ),
  kindRule(
    'Role',
    'access-to-secrets',
    'Whoever reads Secrets, or enters pods that hold them, is whoever they belong to.',
    role => !grants(role, ...SENSITIVE),
  ),
  kindRule(
    'Role',
    'access-to-create-pods',
    'Whoever creates pods can read every Secret of the namespace.',
    role => !grantsPods(role),
  ),
  kindRule('Role', 'wildcard-in-rules', 'A star grants what does not exist yet.', role =>
    list(role.rules).every(
      rule =>
        !['apiGroups', 'resources', 'verbs'].some(part =>
          list(at(rule, part)).some(each => String(each).includes('*')),
        ),
    ),
  ),
  {
    name: 'cluster-wide-rights',
    reason: 'A right in one namespace is enough; the cluster has other tenants.',
    check: manifests =>
      manifests
        .filter(({ kind }) => kind === 'ClusterRole' || kind === 'ClusterRoleBinding')
        .map(manifest => ({ manifest, message: manifest.kind })),
  },
  kindRule(
    'ServiceAccount',
    'service-account-automount',
    'A pod that forgets to say no gets a token.',
    account => account.automountServiceAccountToken === false,
  ),
  kindRule(
    'Service',
    'exposed-services',
    'Only the API and the front end are public (O9).',
    service => at(service, 'spec', 'type') === 'ClusterIP' && list(at(service, 'spec', 'externalIPs')).length === 0,
  ),
  kindRule('Service', 'dangling-service', 'Callers of a Service without pods wait for a timeout.', (service, all) =>
    pods(inNamespaceOf(service, all)).some(pod => matches(at(service, 'spec', 'selector'), pod.labels)),
  ),
  kindRule(
    'ServiceMonitor',
    'dangling-servicemonitor',
    'A monitor that finds no Service is an alert that never fires.',
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
    'One replica is none while its node restarts.',
    deployment => Number(at(deployment, 'spec', 'replicas')) >= 2,
  ),
  kindRule(
    'Deployment',
    'rolling-update-strategy',
    'A roll must add before it takes away.',
    deployment => rolled(deployment) === 0,
  ),
  kindRule('Deployment', 'no-disruption-budget', 'A drain takes all replicas at once.', (deployment, all) =>
    inNamespaceOf(deployment, all).some(
      budget =>
        budget.kind === 'PodDisruptionBudget' &&
        matches(at(budget, 'spec', 'selector', 'matchLabels'), pods([deployment])[0]?.labels ?? {}),
    ),
  ),
  kindRule(
    'PodDisruptionBudget',
    'pdb-max-unavailable',
    'A budget of zero makes a node that can never be drained.',
    budget => Number(at(budget, 'spec', 'maxUnavailable')) > 0,
  ),
  kindRule(
    'ValidatingAdmissionPolicy',
    'admission-policy-unbound',
    'A policy without a binding that denies, or one that is skipped when it fails, refuses nothing.',
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
    'What somebody changes by hand, or forgets to delete, must not stay.',
    application =>
      at(application, 'spec', 'syncPolicy', 'automated', 'prune') === true &&
      at(application, 'spec', 'syncPolicy', 'automated', 'selfHeal') === true &&
      list(at(application, 'spec', 'syncPolicy', 'syncOptions')).includes('ServerSideApply=true'),
  ),
  {
    name: 'runner-namespace-without-secrets',
    reason: 'Whoever may create runners can read every Secret beside them.',
    check: manifests => {
      const runners = pods(manifests).filter(({ manifest }) => manifest.kind === 'PodTemplate');
      return runners
        .filter(({ spec }) => JSON.stringify(spec).match(/secretKeyRef|"secretRef"|"secret":/))
        .map(({ manifest }) => ({ manifest, message: 'the template refers to a Secret' }));
    },
  },
];
