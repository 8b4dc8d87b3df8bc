import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import * as z from 'zod';
import { BROWSER_NODES, LABELS, NAMESPACES, RUNNER_TEMPLATE, SERVICES } from '../../contract/names.ts';
import type { DoctorCheck } from './check.ts';

/** Native sidecars are stable from here on: https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers/ */
const MINOR_MIN = 33;
const TIMEOUT_MS = 15_000;
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;
const RENDERED = 'apply manifests/rendered/<env> (docs/rollout.md)';

/** The fields of Kubernetes objects that are read here. */
const keyRef = z.object({ name: z.string(), key: z.string(), optional: z.boolean().optional() });
const podSpec = z.object({
  hostAliases: z.array(z.object({ ip: z.string(), hostnames: z.array(z.string()) })).optional(),
  containers: z.array(
    z.object({
      env: z
        .array(
          z.object({
            valueFrom: z.object({ secretKeyRef: keyRef.optional(), configMapKeyRef: keyRef.optional() }).optional(),
          }),
        )
        .optional(),
    }),
  ),
});
const condition = z.object({ type: z.string(), status: z.string(), message: z.string().optional() });
const container = z.object({
  name: z.string(),
  state: z
    .object({ waiting: z.object({ reason: z.string().optional(), message: z.string().optional() }).optional() })
    .optional(),
});
const pod = z.object({
  metadata: z.object({ name: z.string(), labels: z.record(z.string(), z.string()).optional() }),
  status: z.object({
    conditions: z.array(condition).optional(),
    containerStatuses: z.array(container).optional(),
    initContainerStatuses: z.array(container).optional(),
  }),
});
type Pod = z.infer<typeof pod>;
export const listOf = <Item>(item: z.ZodType<Item>) => z.object({ items: z.array(item) });
const named = z.object({
  metadata: z.object({ name: z.string(), labels: z.record(z.string(), z.string()).optional() }),
});

/** `doctor --cluster`: checks the cluster of KUBECONFIG. When it cannot be reached, that is the only line. */
export async function clusterChecks(environment: NodeJS.ProcessEnv): Promise<DoctorCheck[]> {
  const kubectl = kubectlReader(environment);
  const reached = await runCheck('cluster', async () => checkVersion(kubectl));
  if (!reached.ok) return [reached];
  const checks: [string, (kubectl: Kubectl) => Promise<string>][] = [
    ['nodes', checkNodes],
    ['namespaces', checkNamespaces],
    ['admission-policies', admissionPolicies],
    ['network-policies', networkPolicies],
    ['template', checkTemplate],
    ['secrets', checkSecrets],
    [SERVICES.controller, kubectl => checkDeployment(kubectl, SERVICES.controller)],
    [SERVICES.egress, kubectl => checkDeployment(kubectl, SERVICES.egress)],
    ['runners', checkRunners],
    ['argocd', checkArgoCd],
  ];
  return [reached, ...(await Promise.all(checks.map(([name, look]) => runCheck(name, () => look(kubectl)))))];
}

/** The message of what `look` throws is the problem and its remedy. */
export async function runCheck(check: string, look: () => Promise<string>): Promise<DoctorCheck> {
  try {
    return { check, ok: true, detail: await look() };
  } catch (error) {
    return { check, ok: false, detail: error instanceof Error ? error.message : String(error) };
  }
}

export type Kubectl = <Answer>(args: readonly string[], answer: z.ZodType<Answer>) => Promise<Answer>;

/** kubectl's JSON, or null: `get --ignore-not-found` prints nothing for a missing object. */
export const kubectlReader =
  (environment: NodeJS.ProcessEnv): Kubectl =>
  async (args, answer) => {
    const options = { env: environment, timeout: TIMEOUT_MS, maxBuffer: OUTPUT_BYTES_MAX };
    const { stdout } = await promisify(execFile)('kubectl', [...args, '-o', 'json'], options).catch(error => {
      if (error.code === 'ENOENT') throw new Error('kubectl was not found: install it');
      throw new Error(
        `kubectl ${args.join(' ')}: ${String(error.stderr ?? error.message)
          .trim()
          .split('\n')
          .at(-1)}`,
      );
    });
    return answer.parse(stdout.trim() === '' ? null : JSON.parse(stdout));
  };

const get = <Answer>(kubectl: Kubectl, namespace: string, what: readonly string[], answer: z.ZodType<Answer>) =>
  kubectl(['-n', namespace, 'get', ...what, '--ignore-not-found'], answer.nullable());

export async function checkVersion(kubectl: Kubectl): Promise<string> {
  const { serverVersion } = await kubectl(
    ['version'],
    z.object({ serverVersion: z.object({ gitVersion: z.string(), minor: z.string() }).optional() }),
  );
  if (!serverVersion)
    throw new Error('no API server answers: KUBECONFIG must name a cluster that this machine can reach');
  if (Number.parseInt(serverVersion.minor, 10) < MINOR_MIN)
    throw new Error(`${serverVersion.gitVersion}: Kubernetes 1.${MINOR_MIN} or newer is needed, for native sidecars`);
  return serverVersion.gitVersion;
}

async function checkNodes(kubectl: Kubectl): Promise<string> {
  const node = z.object({
    spec: z.object({ unschedulable: z.boolean().optional() }),
    status: z.object({ conditions: z.array(condition) }),
  });
  const { key, value } = BROWSER_NODES;
  const { items } = await kubectl(['get', 'nodes', '-l', `${key}=${value}`], listOf(node));
  const ready = items.filter(
    ({ spec, status }) =>
      !spec.unschedulable && status.conditions.some(({ type, status: is }) => type === 'Ready' && is === 'True'),
  );
  if (ready.length > 0) return `${ready.length} of ${items.length} with ${key}=${value} take browsers`;
  if (items.length === 0) return `none with ${key}=${value} yet: fine where an autoscaler adds one, else label a node`;
  throw new Error(
    `none of ${items.length} nodes with ${key}=${value} is ready and schedulable: uncordon or repair one`,
  );
}

async function checkNamespaces(kubectl: Kubectl): Promise<string> {
  const { items } = await kubectl(['get', 'namespaces'], listOf(named));
  for (const name of Object.values(NAMESPACES)) {
    const found = items.find(({ metadata }) => metadata.name === name);
    if (!found)
      throw new Error(`${name} is missing: ${name === NAMESPACES.api ? `create it, or ${RENDERED}` : RENDERED}`);
    if (name === NAMESPACES.api) continue; // the platform's own affair, unless it is rendered here
    if (found.metadata.labels?.['pod-security.kubernetes.io/enforce'] !== 'restricted')
      throw new Error(`${name} does not enforce the restricted Pod Security Standard: ${RENDERED}`);
  }
  return `${Object.values(NAMESPACES).join(', ')}: present, and restricted where browsers and secrets are`;
}

async function admissionPolicies(kubectl: Kubectl): Promise<string> {
  const bindings = await kubectl(['get', 'validatingadmissionpolicybindings'], listOf(named));
  const policies = bindings.items.filter(({ metadata }) => metadata.name.startsWith('runner-'));
  if (policies.length === 0) throw new Error(`no admission policy guards ${NAMESPACES.runners}: ${RENDERED}`);
  return `${policies.length} guard ${NAMESPACES.runners}`;
}

async function networkPolicies(kubectl: Kubectl): Promise<string> {
  for (const namespace of [NAMESPACES.system, NAMESPACES.runners]) {
    const { items } = await kubectl(['-n', namespace, 'get', 'networkpolicies'], listOf(named));
    if (items.length === 0)
      throw new Error(`${namespace} has no NetworkPolicy, so every pod can reach it: ${RENDERED}`);
  }
  return 'where browsers and secrets are (whether the CNI enforces them is not checked)';
}

const podTemplate = z.object({ template: z.object({ spec: podSpec }) });

async function checkTemplate(kubectl: Kubectl): Promise<string> {
  const found = await get(kubectl, NAMESPACES.runners, ['podtemplate', RUNNER_TEMPLATE], podTemplate);
  if (!found)
    throw new Error(`${NAMESPACES.runners}/${RUNNER_TEMPLATE} is missing, so no runner can be created: ${RENDERED}`);
  const service = z.object({ spec: z.object({ clusterIP: z.string() }) });
  for (const { ip, hostnames } of found.template.spec.hostAliases ?? [])
    for (const name of hostnames) {
      const there = await get(kubectl, NAMESPACES.system, ['service', name], service);
      if (there?.spec.clusterIP !== ip)
        throw new Error(
          `runners expect ${name} at ${ip}, but its Service has ${there?.spec.clusterIP ?? 'no address'}: set clusterIps of the environment and render again`,
        );
    }
  return `${RUNNER_TEMPLATE}; the Services that it names have the expected addresses`;
}

/** Every Secret and ConfigMap key that the workloads need. Values are not reported. */
async function checkSecrets(kubectl: Kubectl): Promise<string> {
  const workload = z.object({ spec: z.object({ template: z.object({ spec: podSpec }) }) });
  const { items } = await kubectl(['-n', NAMESPACES.system, 'get', 'deployments'], listOf(workload));
  const runner = await get(kubectl, NAMESPACES.runners, ['podtemplate', RUNNER_TEMPLATE], podTemplate);
  const wanted = [
    ...items.map(({ spec }) => ({ namespace: NAMESPACES.system, spec: spec.template.spec })),
    ...(runner ? [{ namespace: NAMESPACES.runners, spec: runner.template.spec }] : []),
  ]
    .flatMap(({ namespace, spec }) =>
      spec.containers.flatMap(({ env = [] }) =>
        env.flatMap(({ valueFrom }) => [
          ...(valueFrom?.secretKeyRef ? [{ namespace, kind: 'secret', ...valueFrom.secretKeyRef }] : []),
          ...(valueFrom?.configMapKeyRef ? [{ namespace, kind: 'configmap', ...valueFrom.configMapKeyRef }] : []),
        ]),
      ),
    )
    .filter(({ optional }) => !optional);
  const held = z.object({ data: z.record(z.string(), z.unknown()).optional() });
  for (const { namespace, kind, name, key } of wanted) {
    const found = await get(kubectl, namespace, [kind, name], held);
    if (!found) throw new Error(`${kind} ${namespace}/${name} is missing: run manifests/make-secrets.ts`);
    if (!(key in (found.data ?? {})))
      throw new Error(`${kind} ${namespace}/${name} has no key ${key}: run manifests/make-secrets.ts, or add it`);
  }
  return `${new Set(wanted.map(({ namespace, kind, name }) => `${kind} ${namespace}/${name}`)).size} referenced objects are present`;
}

async function checkDeployment(kubectl: Kubectl, name: string): Promise<string> {
  const found = await get(
    kubectl,
    NAMESPACES.system,
    ['deployment', name],
    z.object({ spec: z.object({ replicas: z.int() }), status: z.object({ availableReplicas: z.int().optional() }) }),
  );
  if (!found) throw new Error(`is not deployed: ${RENDERED}`);
  const { spec, status } = found;
  const available = status.availableReplicas ?? 0;
  if (available >= spec.replicas) return `${available} of ${spec.replicas} replicas are available`;
  const { items } = await kubectl(['-n', NAMESPACES.system, 'get', 'pods', '-l', `${LABELS.app}=${name}`], listOf(pod));
  const why = items.map(waitsFor).find(Boolean) ?? `read "kubectl -n ${NAMESPACES.system} logs deployment/${name}"`;
  throw new Error(`${available} of ${spec.replicas} replicas are available: ${why}`);
}

async function checkRunners(kubectl: Kubectl): Promise<string> {
  const { items } = await kubectl(
    ['-n', NAMESPACES.runners, 'get', 'pods', '-l', `${LABELS.app}=${LABELS.runnerApp}`],
    listOf(pod),
  );
  const ready = items.filter(isReady);
  const of = (state: string) => ready.filter(({ metadata }) => metadata.labels?.[LABELS.state] === state).length;
  const waiting = items.filter(each => !isReady(each)).map(waitsFor);
  const stuck = waiting.find(Boolean);
  if (stuck) throw new Error(`${waiting.length} of ${items.length} are not ready: ${stuck}`);
  return `${of('warm')} warm, ${of('leased')} leased, ${waiting.length} starting`;
}

const isReady = ({ status }: Pod): boolean =>
  status.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') ?? false;

/** Why a pod is not ready, in the scheduler's or the kubelet's words. */
function waitsFor({ metadata, status }: Pod): string | undefined {
  const placed = status.conditions?.find(({ type, status: is }) => type === 'PodScheduled' && is === 'False');
  if (placed) return `${metadata.name}: no node takes it: ${placed.message ?? ''}`;
  for (const { name, state } of [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])]) {
    const reason = state?.waiting?.reason;
    if (reason !== undefined && !['PodInitializing', 'ContainerCreating'].includes(reason))
      return `${metadata.name}, container ${name}: ${reason}: ${state?.waiting?.message ?? ''}`;
  }
  return undefined;
}

async function checkArgoCd(kubectl: Kubectl): Promise<string> {
  const crds = await kubectl(['get', 'customresourcedefinitions'], listOf(named));
  if (!crds.items.some(({ metadata }) => metadata.name === 'applications.argoproj.io'))
    return 'is not installed; manifests are applied by hand';
  const application = named.extend({
    status: z
      .object({
        sync: z.object({ status: z.string() }).optional(),
        health: z.object({ status: z.string() }).optional(),
        conditions: z.array(z.object({ message: z.string() })).optional(),
      })
      .optional(),
  });
  const { items } = await kubectl(['-n', 'argocd', 'get', 'applications'], listOf(application));
  const ours = items.filter(({ metadata }) => metadata.name.startsWith('omicron-browser'));
  if (ours.length === 0) return 'is installed, but has no omicron-browser Application';
  for (const { metadata, status } of ours) {
    const [sync, health] = [status?.sync?.status ?? 'Unknown', status?.health?.status ?? 'Unknown'];
    if (sync !== 'Synced' || health !== 'Healthy')
      throw new Error(
        `${metadata.name} is ${sync} and ${health}: ${status?.conditions?.[0]?.message ?? 'see it in Argo CD'}`,
      );
  }
  return `${ours.map(({ metadata }) => metadata.name).join(', ')}: Synced and Healthy`;
}
