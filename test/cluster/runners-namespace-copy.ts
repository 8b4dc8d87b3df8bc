import { KubeConfig, type KubernetesObject, type V1PodTemplate } from '@kubernetes/client-node';
import { clusterEnvironment, kubectl } from '../../cluster/kubectl.ts';
import { NAMESPACES, RUNNER_TEMPLATE, SERVICE_ACCOUNTS } from '../../contract/names.ts';

const KINDS = 'podtemplates,serviceaccounts,roles,rolebindings,configmaps,networkpolicies,resourcequotas,limitranges';
const ADMISSION = 'validatingadmissionpolicybindings.admissionregistration.k8s.io';
/** Kubernetes creates these in every namespace. */
const GIVEN = ['default', 'kube-root-ca.crt'];

/**
 * A second namespace for runners: a copy of the deployment's, with the same rights for the controller's account. The
 * deployment's controllers do not look there; in their own namespace they remove what they do not know.
 */
export interface NamespaceCopy extends AsyncDisposable {
  readonly namespace: string;
  /** Another PodTemplate in it. */
  template(name: string, change: (template: V1PodTemplate) => void): Promise<string>;
}

/** `admissionPolicies`: whether they bind there too. Pod Security does in any case. */
export async function copyRunnersNamespace(
  namespace: string,
  { admissionPolicies }: { admissionPolicies: boolean },
): Promise<NamespaceCopy> {
  const bindings = admissionPolicies
    ? (await list(ADMISSION)).filter(({ metadata }) => ofDeployment(metadata?.name))
    : [];
  const copies = bindings.map(binding => ({
    ...plain(binding, { name: `${binding.metadata?.name}--${namespace}` }),
    spec: {
      ...(binding as { spec?: object }).spec,
      matchResources: { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } } },
    },
  }));
  const remove = async () => {
    await kubectl(['delete', 'namespace', namespace, '--ignore-not-found']);
    const left = (await list(ADMISSION)).flatMap(({ metadata }) => metadata?.name ?? []);
    const ours = left.filter(name => name.endsWith(`--${namespace}`));
    if (ours.length > 0) await kubectl(['delete', ADMISSION, ...ours]);
  };
  await remove(); // left by an interrupted run
  const labels = (await one('namespace', NAMESPACES.runners)).metadata?.labels;
  await create([
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, labels: named(labels, namespace) } },
  ]);
  const own = (await list(KINDS, NAMESPACES.runners)).filter(({ metadata }) => !GIVEN.includes(metadata?.name ?? ''));
  await create([...own.map(object => plain(object, { namespace })), ...copies]);
  return {
    namespace,
    async template(name, change) {
      const template = plain(await one('podtemplate', RUNNER_TEMPLATE, namespace), { name }) as V1PodTemplate;
      change(template);
      await create([template]);
      return name;
    },
    [Symbol.asyncDispose]: remove,
  };
}

/** The cluster as one of its service accounts sees it: by a token of that account, or by the one that a pod of it has. */
export async function asAccount(namespace: string, account: string, pod?: string): Promise<KubeConfig> {
  const bound = pod === undefined ? [] : ['--bound-object-kind=Pod', `--bound-object-name=${pod}`];
  const token = (await kubectl(['-n', namespace, 'create', 'token', account, '--duration=1h', ...bound])).trim();
  const config = new KubeConfig();
  config.loadFromString(await kubectl(['config', 'view', '--raw', '--minify', '--flatten']));
  const cluster = config.getCurrentCluster();
  if (!cluster) throw new Error(`${clusterEnvironment().KUBECONFIG} names no cluster`);
  config.loadFromClusterAndUser(cluster, { name: account, token });
  return config;
}

export const asController = (pod?: string): Promise<KubeConfig> =>
  asAccount(NAMESPACES.system, SERVICE_ACCOUNTS.controller, pod);

/** Not a copy of one: those end in the name of the copied namespace. */
const ofDeployment = (name = ''): boolean => name.startsWith('runner-') && !name.includes('--');
const named = (labels: Record<string, string> | undefined, name: string) => ({
  ...labels,
  'kubernetes.io/metadata.name': name,
});

/** An object without what the server added, in another namespace or under another name. */
function plain(object: KubernetesObject, where: { namespace?: string; name?: string }): KubernetesObject {
  const { metadata, ...rest } = object as KubernetesObject & { status?: unknown };
  delete rest.status;
  const { name, namespace, labels } = metadata ?? {};
  return {
    ...rest,
    metadata: {
      ...(name ? { name } : {}),
      ...(namespace ? { namespace } : {}),
      ...(labels ? { labels } : {}),
      ...where,
    },
  };
}

async function list(kinds: string, namespace?: string): Promise<KubernetesObject[]> {
  const text = await kubectl([...(namespace ? ['-n', namespace] : []), 'get', kinds, '-o', 'json']);
  return (JSON.parse(text) as { items: KubernetesObject[] }).items;
}

async function one(kind: string, name: string, namespace?: string): Promise<KubernetesObject> {
  return JSON.parse(await kubectl([...(namespace ? ['-n', namespace] : []), 'get', kind, name, '-o', 'json']));
}

const create = (objects: readonly object[]) =>
  kubectl(['create', '-f', '-'], objects.map(each => JSON.stringify(each)).join('\n'));
