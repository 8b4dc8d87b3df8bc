import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import * as z from 'zod';
import { type ApiNamespace, LABELS, NAMESPACES } from '../../contract/names.ts';
import type { DoctorCheck } from './check.ts';
import { checkVersion, type Kubectl, kubectlReader, listOf, runCheck } from './cluster-checks.ts';

const TIMEOUT_MS = 15_000;
const NAMED_MAX = 5;
const PART_OF = 'app.kubernetes.io/part-of';

const labels = z.record(z.string(), z.string());
const pod = z.object({
  metadata: z.object({ name: z.string(), labels: labels.optional() }),
  status: z.object({ phase: z.string().optional() }),
});
type Pod = z.infer<typeof pod>;

const selector = z.object({
  matchLabels: labels.optional(),
  matchExpressions: z
    .array(z.object({ key: z.string(), operator: z.string(), values: z.array(z.string()).optional() }))
    .optional(),
});
type Selector = z.infer<typeof selector>;
const networkPolicy = z.object({
  spec: z.object({
    podSelector: selector,
    policyTypes: z.array(z.string()).optional(),
    egress: z.array(z.unknown()).optional(),
  }),
});
type NetworkPolicy = z.infer<typeof networkPolicy>;

/**
 * `doctor --cluster --before`: what step 1 of docs/rollout.md would cut off, before anything is applied. Changes nothing:
 * Pod Security is asked by a dry run.
 */
export async function beforeRollout(
  environment: NodeJS.ProcessEnv,
  api: ApiNamespace,
  namespaces: Readonly<Record<keyof typeof NAMESPACES, string>> = NAMESPACES,
): Promise<DoctorCheck[]> {
  const kubectl = kubectlReader(environment);
  const reached = await runCheck('cluster', async () => checkVersion(kubectl));
  if (!reached.ok) return [reached];
  const closed = [namespaces.system, namespaces.runners];
  return [
    reached,
    ...(await Promise.all(closed.map(name => runCheck(name, () => checkClosing(kubectl, environment, name, MOVE))))),
    await runCheck(namespaces.api, () =>
      api === 'existing'
        ? leftAlone(kubectl, namespaces.api)
        : checkClosing(kubectl, environment, namespaces.api, LEAVE_ALONE),
    ),
  ];
}

const MOVE = 'move them to another namespace first';
const LEAVE_ALONE =
  "keep apiNamespace: 'existing', or give them NetworkPolicies and a restricted security context first";

/** A namespace that becomes restricted and closed. Throws what that would cut off. */
async function checkClosing(
  kubectl: Kubectl,
  environment: NodeJS.ProcessEnv,
  namespace: string,
  remedy: string,
): Promise<string> {
  const pods = await othersIn(kubectl, namespace);
  if (pods.length === 0) return 'nothing else runs there: it may be closed';
  const policies = await policiesOf(kubectl, namespace);
  const open = (type: string) => pods.filter(each => !isIsolated(each, policies, type));
  const cut = [
    describeLoss('would no longer be reached', open('Ingress')),
    describeLoss('would no longer reach out', open('Egress')),
    await findRefusedPods(environment, namespace),
  ].filter(each => each !== '');
  if (cut.length === 0)
    return `${pods.length} pods run there, each under NetworkPolicies of its own and fit for restricted`;
  throw new Error(`${cut.join('; ')}: ${remedy}`);
}

/** The platform's namespace, into which nothing is rendered. */
async function leftAlone(kubectl: Kubectl, namespace: string): Promise<string> {
  const pods = await othersIn(kubectl, namespace);
  const policies = await policiesOf(kubectl, namespace);
  const limited = pods.filter(each => isIsolated(each, policies, 'Egress'));
  const callers =
    limited.length === 0
      ? ''
      : `; before step 3, allow those that will call the controller to reach it and the runners: ${listNames(limited)}`;
  return `${pods.length} pods run there and are left alone${callers}`;
}

/** Pods that run there and are not this product's. */
async function othersIn(kubectl: Kubectl, namespace: string): Promise<Pod[]> {
  const { items } = await kubectl(['-n', namespace, 'get', 'pods'], listOf(pod));
  return items.filter(
    ({ metadata, status }) =>
      !['Succeeded', 'Failed'].includes(status.phase ?? '') &&
      metadata.labels?.[PART_OF] !== 'omicron-browser' &&
      !OURS.includes(metadata.labels?.[LABELS.app] ?? ''),
  );
}
const OURS: readonly string[] = [LABELS.runnerApp, LABELS.controllerApp, LABELS.egressApp];

/** Those of others; the rendered ones are what is asked about. */
async function policiesOf(kubectl: Kubectl, namespace: string): Promise<NetworkPolicy[]> {
  const all = listOf(networkPolicy.extend({ metadata: z.object({ labels: labels.optional() }) }));
  const { items } = await kubectl(['-n', namespace, 'get', 'networkpolicies'], all);
  return items.filter(({ metadata }) => metadata.labels?.[PART_OF] !== 'omicron-browser');
}

/**
 * Whether a policy selects the pod for this direction already: one more that allows nothing then changes nothing.
 * <https://kubernetes.io/docs/concepts/services-networking/network-policies/#the-two-sorts-of-pod-isolation>
 */
function isIsolated({ metadata }: Pod, policies: readonly NetworkPolicy[], type: string): boolean {
  return policies.some(({ spec }) => {
    const types = spec.policyTypes ?? ['Ingress', ...(spec.egress ? ['Egress'] : [])];
    return types.includes(type) && matchesSelector(spec.podSelector, metadata.labels ?? {});
  });
}

function matchesSelector(
  { matchLabels = {}, matchExpressions = [] }: Selector,
  of: Readonly<Record<string, string>>,
): boolean {
  return (
    Object.entries(matchLabels).every(([key, value]) => of[key] === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      const value = of[key];
      if (operator === 'Exists') return value !== undefined;
      if (operator === 'DoesNotExist') return value === undefined;
      const isListed = value !== undefined && values.includes(value);
      return operator === 'In' ? isListed : !isListed;
    })
  );
}

const describeLoss = (what: string, pods: readonly Pod[]): string =>
  pods.length === 0 ? '' : `${listNames(pods)} ${what}`;

const listNames = (pods: readonly Pod[]): string => {
  const all = pods.map(({ metadata }) => metadata.name).sort();
  const rest = all.length - NAMED_MAX;
  return `${all.slice(0, NAMED_MAX).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
};

/** Which running pods the restricted standard would refuse at their next start: the API server's own warnings. */
async function findRefusedPods(environment: NodeJS.ProcessEnv, namespace: string): Promise<string> {
  const label = 'pod-security.kubernetes.io/enforce=restricted';
  const args = ['label', '--dry-run=server', '--overwrite', 'namespace', namespace, label];
  const { stderr } = await promisify(execFile)('kubectl', args, { env: environment, timeout: TIMEOUT_MS });
  const found = [...stderr.matchAll(/^Warning: (?!existing pods)(.+)$/gm)].map(([, line]) => line ?? '');
  return found.length === 0
    ? ''
    : `Pod Security would refuse the next start of ${found.slice(0, NAMED_MAX).join('; ')}`;
}
