import { apply, kubectl, tryKubectl } from '../../cluster/kubectl.ts';
import { LABELS, NAMESPACES, RUNNER_TEMPLATE, SERVICE_ACCOUNTS, SERVICES } from '../../contract/names.ts';
import type { Environment } from '../../manifests/environment-type.ts';
import { ENVIRONMENTS } from '../../manifests/environments.ts';
import { FOLDERS, type KubernetesObject, renderObjects } from '../../manifests/render.ts';

// The shipped manifests on a real API server: namespaces, accounts, rights, quotas, admission policies, template. Deployments are left
// out: controllers and egress proxies are processes of this machine, with the settings of their ConfigMaps. Network policies are too: they
// admit the pods of those Deployments, and an engine on this machine closes the addresses of the simulated pods to its processes.

const wave = ({ metadata }: KubernetesObject) => Number(metadata.annotations?.['argocd.argoproj.io/sync-wave']);

/** The environment `local` with this capacity. */
export function simulatedEnvironment(capacity: number): Environment {
  const { local } = ENVIRONMENTS;
  return { ...local, logLevel: 'info', limits: { ...local.limits, capacity } };
}

const coreObjects = (env: Environment): KubernetesObject[] =>
  [...renderObjects(env)].filter(([path]) => path.startsWith(`${FOLDERS.core}/`)).map(([, object]) => object);

const LEFT_OUT = ['Deployment', 'PodDisruptionBudget', 'NetworkPolicy'];

/** Applies them. Refuses a cluster where a controller runs: it would remove what it does not know. */
export async function applyManifests(env: Environment): Promise<void> {
  const running = await tryKubectl(['-n', NAMESPACES.system, 'get', 'deployment', SERVICES.controller, '-o', 'name']);
  if (running.ok) throw new Error('A controller is deployed on this cluster. Use a cluster without one.');
  const objects = coreObjects(env)
    .filter(({ kind }) => !LEFT_OUT.includes(kind))
    .toSorted((a, b) => wave(a) - wave(b));
  const isFirst = ({ kind }: KubernetesObject) => kind === 'Namespace' || kind === 'PriorityClass';
  await apply(objects.filter(isFirst));
  await apply(objects.filter(each => !isFirst(each)));
}

/**
 * A pod in place of the controllers, which are processes of this machine: with its token they write names of runners, and those of ended leases
 * lead to its address. No node takes it.
 */
export async function controllerPod(): Promise<{ name: string; address: string }> {
  const [name, address] = ['simulated-controllers', '10.255.255.254'];
  const security = { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } };
  const closed = { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } };
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: NAMESPACES.system, labels: { [LABELS.app]: LABELS.controllerApp } },
    spec: {
      serviceAccountName: SERVICE_ACCOUNTS.controller,
      nodeSelector: { nowhere: 'true' },
      securityContext: security,
      containers: [{ name: 'none', image: 'none', securityContext: closed }],
    },
  };
  await apply([pod]);
  const status = JSON.stringify({ status: { podIP: address, podIPs: [{ ip: address }] } });
  await kubectl(['-n', NAMESPACES.system, 'patch', 'pod', name, '--subresource=status', '--type=merge', '-p', status]);
  return { name, address };
}

/** Settings of a program, as its ConfigMap gives them. */
export function settingsOf(env: Environment, service: string): Record<string, string> {
  const found = coreObjects(env).find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === service);
  return (found?.data ?? {}) as Record<string, string>; // a ConfigMap's
}

/** Another PodTemplate, as after a sync of a new version. */
export const changeTemplate = (annotation: string) =>
  kubectl([
    ...['-n', NAMESPACES.runners, 'patch', 'podtemplate', RUNNER_TEMPLATE, '--type=merge', '-p'],
    JSON.stringify({ template: { metadata: { annotations: { 'omicron.dev/simulated-version': annotation } } } }),
  ]);

/** Node of each runner's pod. */
export async function nodesOfRunners(): Promise<Map<string, string>> {
  const path = String.raw`{range .items[*]}{.metadata.labels.omicron\.dev/runner-id} {.spec.nodeName}{"\n"}{end}`;
  const lines = (await kubectl(['-n', NAMESPACES.runners, 'get', 'pods', '-o', `jsonpath=${path}`])).split('\n');
  return new Map(lines.filter(Boolean).map(line => line.split(' ', 2) as [string, string]));
}

/** Requests of the API server since it started, by verb and resource: those that write, and lists. */
export async function apiCalls(): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for (const line of (await kubectl(['get', '--raw', '/metrics'])).split('\n')) {
    const match = /^apiserver_request_total\{(.*)\} (\S+)$/.exec(line);
    const label = (name: string) => new RegExp(`(?:^|,)${name}="([^"]*)"`).exec(match?.[1] ?? '')?.[1] ?? '';
    if (!match || ['WATCH', 'GET'].includes(label('verb'))) continue;
    const part = label('subresource');
    const key = `${label('verb')} ${label('resource')}${part ? `/${part}` : ''}`;
    counts.set(key, (counts.get(key) ?? 0) + Number(match[2]));
  }
  return counts;
}

/** Removes pods and names of runners that a run leaves. */
export async function removeRunners(): Promise<void> {
  const all = ['-n', NAMESPACES.runners, 'delete', 'pods,endpointslices', '--all', '--grace-period=0', '--force'];
  await kubectl([...all, '--wait=false', '--ignore-not-found']);
}
