import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { apply, clusterEnvironment, kubectl } from '../../cluster/kubectl.ts';
import { BROWSER_NODES } from '../../contract/names.ts';

// Nodes without machines: KWOK plays their kubelets. Addresses of their pods are this machine's own.

const KWOK = 'sigs.k8s.io/kwok/cmd/kwok@v0.8.0';
const READY = 'pod/fast/pod-ready';
const STAGES = ['node/fast/node-initialize', READY, 'pod/fast/pod-complete', 'pod/fast/pod-delete'];
const LEASE = 'node/heartbeat-with-lease/node-heartbeat-with-lease';
const POD_CIDR = '10.250.0.0/16';
const SIMULATED = 'omicron.dev/simulated';
const ANNOTATION = { 'kwok.x-k8s.io/node': 'fake' } as const;
export const RUNNERS_A_NODE = 52;

const go = (args: readonly string[], env: NodeJS.ProcessEnv = {}) =>
  execFileSync('go', args, { env: { ...process.env, GOFLAGS: '-mod=mod', ...env }, encoding: 'utf8' }).trim();

/** Builds KWOK once (154 s of processor time), unless OMICRON_KWOK names a program; answers it. */
function kwokProgram(folder: string): string {
  const built = process.env.OMICRON_KWOK ?? join(folder, 'kwok');
  if (!existsSync(built)) go(['install', KWOK], { GOBIN: folder });
  return built;
}

/** `startMs`: from the start of a pod's containers, when it has its address, to its readiness; 0: it is ready at once. */
function configuration(startMs: number): string {
  const stages = join(go(['env', 'GOMODCACHE']), 'sigs.k8s.io/kwok@v0.8.0/kustomize/stage');
  const options = {
    apiVersion: 'config.kwok.x-k8s.io/v1alpha1',
    kind: 'KwokConfiguration',
    // without these it plays one stage after the other
    options: { podPlayStageParallelism: 16, nodePlayStageParallelism: 16, nodeLeaseParallelism: 4 },
  };
  const texts = [...STAGES, LEASE].map(name => ({ name, text: readFileSync(join(stages, `${name}.yaml`), 'utf8') }));
  const played = texts.flatMap(({ name, text }) =>
    name === READY && startMs > 0 ? inTwoStages(text, startMs) : [text],
  );
  return [JSON.stringify(options), ...played].join('\n---\n');
}

/** KWOK makes a pod ready in one step. A kubelet gives it its address with its containers, and calls it ready when they are. */
function inTwoStages(ready: string, startMs: number): string[] {
  const notReady = edited(ready, [
    ['name: pod-ready', 'name: pod-started'],
    [/status: "True"\n( +)type: (Ready|ContainersReady)/g, 'status: "False"\n$1type: $2'],
    [/ready: true/g, 'ready: false'],
  ]);
  const later = edited(ready, [
    ["- 'Pending'", "- 'Running'"],
    ['\nspec:\n', `\nspec:\n  delay:\n    durationMilliseconds: ${startMs}\n`],
    [/ +\{\{ \$podIPs := [\s\S]*?\n(?= +phase: )/, ''],
  ]);
  return [notReady, later];
}

function edited(text: string, edits: readonly (readonly [string | RegExp, string])[]): string {
  return edits.reduce((before, [from, to]) => {
    const after = before.replace(from, to);
    if (after === before) throw new Error(`KWOK's stage has no ${from}.`);
    return after;
  }, text);
}

const node = (index: number) => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: {
    name: `simulated-${index}`,
    annotations: ANNOTATION,
    labels: {
      [BROWSER_NODES.key]: BROWSER_NODES.value,
      [SIMULATED]: 'true',
      'kubernetes.io/hostname': `simulated-${index}`,
      'kubernetes.io/os': 'linux',
      'kubernetes.io/arch': 'amd64',
      'topology.kubernetes.io/zone': `zone-${index % 3}`,
    },
  },
  spec: { taints: [BROWSER_NODES] },
});
/** Room for pods on a machine of 16 cores and 64 GiB, and places for runners. */
const SIZE = { cpu: '15800m', memory: '58Gi', pods: String(RUNNERS_A_NODE), 'ephemeral-storage': '400Gi' };

export interface Nodes extends AsyncDisposable {
  readonly names: readonly string[];
  readonly kwok: ChildProcess;
  /** Machines that are gone: their Node objects go, as a cloud's node controller removes them. */
  lose(names: readonly string[]): Promise<void>;
  /** A notice that these machines are taken back: their pods are evicted, as by a termination handler. */
  evict(names: readonly string[]): Promise<void>;
}

const fieldsOf = (name: string) => ['--field-selector', `spec.nodeName=${name}`];

/** Adds `count` nodes for runners to the cluster; until the end, no runner starts on the others. */
export async function startNodes(count: number, folder: string, namespace: string, podStartMs = 0): Promise<Nodes> {
  const removeAll = () =>
    kubectl(['delete', 'nodes', '-l', SIMULATED, '--ignore-not-found', '--wait=false']).then(() => undefined);
  await removeAll(); // left by an interrupted run
  const file = join(folder, 'kwok.yaml');
  writeFileSync(file, configuration(podStartMs));
  const kubeconfig = clusterEnvironment().KUBECONFIG ?? '';
  const kwok = spawn(
    kwokProgram(folder),
    [
      ...['--kubeconfig', kubeconfig, '--config', file, '--cidr', POD_CIDR, '--node-ip', '127.0.0.1'],
      ...['--manage-nodes-with-annotation-selector', 'kwok.x-k8s.io/node=fake', '--server-address', '127.0.0.1:10247'],
      ...['--node-lease-duration-seconds', '40'],
    ],
    { stdio: 'ignore' },
  );
  const own = (await kubectl(['get', 'nodes', '-l', `${BROWSER_NODES.key}=${BROWSER_NODES.value}`, '-o', 'name']))
    .split('\n')
    .filter(Boolean);
  for (const each of own) await kubectl(['label', each, `${BROWSER_NODES.key}-`]);
  const names = Array.from({ length: count }, (_, n) => `simulated-${n}`);
  await apply(names.map((_, n) => node(n)));
  for (const name of names)
    await kubectl([
      ...['patch', 'node', name, '--subresource=status', '--type=merge', '-p'],
      JSON.stringify({ status: { allocatable: SIZE, capacity: SIZE } }),
    ]);
  await kubectl(['wait', '--for=condition=Ready', 'nodes', '-l', SIMULATED, '--timeout=60s']);
  const routes = await podCidrs();
  for (const cidr of routes) execFileSync('ip', ['route', 'replace', 'local', cidr, 'dev', 'lo']);
  return {
    names,
    kwok,
    lose: async lost => void (await kubectl(['delete', 'node', ...lost, '--wait=false'])),
    async evict(taken) {
      for (const name of taken) {
        await kubectl(['taint', 'node', name, 'omicron.dev/spot-notice=true:NoSchedule']);
        const pods = await kubectl([
          '-n',
          namespace,
          'get',
          'pods',
          ...fieldsOf(name),
          '-o',
          'jsonpath={.items[*].metadata.name}',
        ]);
        await Promise.all(
          pods
            .split(' ')
            .filter(Boolean)
            .map(pod => evictPod(namespace, pod)),
        );
      }
    },
    async [Symbol.asyncDispose]() {
      await removeAll();
      for (const each of own) await kubectl(['label', each, `${BROWSER_NODES.key}=${BROWSER_NODES.value}`]);
      kwok.kill();
      for (const cidr of routes) execFileSync('ip', ['route', 'del', 'local', cidr, 'dev', 'lo']);
    },
  };
}

/** Ranges of the pods' addresses: those that the controller manager gives to nodes, else KWOK's. */
async function podCidrs(): Promise<readonly string[]> {
  const given = await kubectl(['get', 'nodes', '-l', SIMULATED, '-o', 'jsonpath={.items[*].spec.podCIDR}']);
  return [POD_CIDR, ...given.split(' ').filter(Boolean)];
}

const evictPod = (namespace: string, name: string) =>
  kubectl(
    ['create', '--raw', `/api/v1/namespaces/${namespace}/pods/${name}/eviction`, '-f', '-'],
    JSON.stringify({ apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name, namespace } }),
  ).catch(() => ''); // it has just ended
