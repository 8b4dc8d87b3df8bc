import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { beforeRollout } from '../../cli/commands/before-rollout.ts';
import { clusterEnvironment, kubectl, stream } from '../../cluster/kubectl.ts';
import { type ApiNamespace, LABELS, NAMESPACES, PORTS } from '../../contract/names.ts';
import type { Environment } from '../../manifests/environment-type.ts';
import { ENVIRONMENTS } from '../../manifests/environments.ts';
import { type KubernetesObject, renderObjects } from '../../manifests/render.ts';
import { eventually } from '../eventually.ts';
import { kubelet, networkOf } from './node.ts';
import { addressOf, podsOf, uidOf } from './pods.ts';
import { probeFrom, type Seen } from './probe.ts';

// A platform that runs already, in namespaces of this test: what docs/rollout.md applies, step by step, leaves it as it is. All
// rules are applied and no workload: pods with the controller's labels stand for it, so this needs no image but the pause image.

const SUFFIX = '-moved-in';
const API = NAMESPACES.api + SUFFIX;
const SYSTEM = NAMESPACES.system + SUFFIX;
const RUNNERS = NAMESPACES.runners + SUFFIX;
/** The platform's database and a stranger. */
const OUTSIDE = `outside${SUFFIX}`;
const NAMES = [API, SYSTEM, RUNNERS, OUTSIDE];
const PORT = 9000;

/** The same rules in the test's namespaces, and cluster-wide ones under another name. */
function moved(object: KubernetesObject): KubernetesObject {
  const names = Object.values(NAMESPACES).toSorted((a, b) => b.length - a.length);
  const text = JSON.stringify(object).replaceAll(
    new RegExp(`(?<=["':/ ])(${names.join('|')})(?=["':/ ])`, 'g'),
    `$1${SUFFIX}`,
  );
  const { metadata, ...rest }: KubernetesObject = JSON.parse(text);
  const isOwn = metadata.namespace !== undefined || rest.kind === 'Namespace';
  return { ...rest, metadata: { ...metadata, name: isOwn ? metadata.name : metadata.name + SUFFIX } };
}

const RULES = ['Namespace', 'NetworkPolicy', 'ResourceQuota', 'LimitRange', 'ServiceAccount', 'Role', 'RoleBinding'];
const rules = (apiNamespace: ApiNamespace, sizes: Partial<Environment> = {}) =>
  [...renderObjects({ ...ENVIRONMENTS.local, ...sizes, apiNamespace }).values()]
    .filter(({ kind }) => RULES.includes(kind))
    .map(moved);

/** A quota asks for all of it. */
const ROOM = { cpu: '10m', memory: '32Mi', 'ephemeral-storage': '16Mi' };

const pod = (namespace: string, name: string, labels: Record<string, string> = {}, restricted = false) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace, labels: { name, ...labels } },
  spec: {
    terminationGracePeriodSeconds: 0,
    automountServiceAccountToken: false,
    ...(restricted && {
      securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } },
    }),
    containers: [
      {
        name: 'pause',
        image: ENVIRONMENTS.local.images.pause,
        imagePullPolicy: 'Never',
        resources: { requests: ROOM, limits: ROOM },
        ...(restricted && {
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
        }),
      },
    ],
  },
});

interface Running {
  readonly pid: number;
  readonly address: string;
}
const listeners: { kill(): unknown }[] = [];

/** Waits for a pod, and answers what connects to it. */
async function running(namespace: string, name: string, ports: readonly number[]): Promise<Running> {
  await kubectl(['-n', namespace, 'wait', '--for=condition=Ready', `pod/${name}`, '--timeout=100s']);
  const [found] = await podsOf(namespace, `name=${name}`);
  if (!found) throw new Error(`no pod ${name}`);
  const pid = await networkOf(uidOf(found));
  const listen = ports.map(port => `require('net').createServer(s => s.end()).listen(${port})`).join(';');
  const script = `${listen};process.stdout.write('.')`;
  const child = spawn('nsenter', ['--target', String(pid), '--net', process.execPath, '-e', script]);
  listeners.push(child);
  await once(child.stdout, 'data');
  return { pid, address: addressOf(found) };
}

let api: Running;
let database: Running;
let stranger: Running;
let controller: Running | undefined;
let runner: Running | undefined;

/** The platform's objects from before, as each step must leave them. */
async function platform(): Promise<Record<string, Seen>> {
  const to = (host: string, port: number) => ({ by: 'tcp', host, port }) as const;
  const [[fromStranger], [fromNode], out] = await Promise.all([
    probeFrom(stranger.pid, [to(api.address, PORT)]),
    probeFrom((await kubelet()).pid, [to(api.address, PORT)]),
    probeFrom(api.pid, [to(database.address, PORT), await dns()]),
  ]);
  return {
    'reached by its ingress': fromStranger ?? 'closed',
    'reached by its node': fromNode ?? 'closed',
    'reaches its database': out[0] ?? 'closed',
    'resolves names': out[1] ?? 'closed',
  };
}
const UNTOUCHED = {
  'reached by its ingress': 'open',
  'reached by its node': 'open',
  'reaches its database': 'open',
  'resolves names': 'open',
};
const dns = async () => {
  const address = ['-n', 'kube-system', 'get', 'service', 'kube-dns', '-o', 'jsonpath={.spec.clusterIP}'];
  return { by: 'dns', host: await kubectl(address), port: 53 } as const;
};
const toController = async (): Promise<Seen | undefined> =>
  (await probeFrom(api.pid, [{ by: 'tcp', host: controller?.address ?? '', port: PORTS.controller }]))[0];
const toRunner = async ({ pid }: Running): Promise<Seen | undefined> =>
  (await probeFrom(pid, [{ by: 'tcp', host: runner?.address ?? '', port: PORTS.runner }]))[0];

const before = (apiNamespace: ApiNamespace) =>
  beforeRollout(clusterEnvironment(), apiNamespace, { api: API, system: SYSTEM, runners: RUNNERS });

const remove = () => kubectl(['delete', 'namespace', ...NAMES, '--ignore-not-found']);

beforeAll(async () => {
  await remove(); // of a run that was cut short
  const namespace = (name: string) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  const pods = [pod(API, 'api', { app: 'api' }), pod(OUTSIDE, 'database'), pod(OUTSIDE, 'stranger')];
  await kubectl(['apply', '-f', '-'], stream([namespace(API), namespace(OUTSIDE), ...pods]));
  [api, database, stranger] = await Promise.all([
    running(API, 'api', [PORT]),
    running(OUTSIDE, 'database', [PORT]),
    running(OUTSIDE, 'stranger', []),
  ]);
});
afterAll(async () => {
  for (const each of listeners) each.kill();
  await kubectl(['delete', 'namespace', ...NAMES, '--ignore-not-found', '--wait=false']);
});

describe('[O24] a platform that runs already', () => {
  test('step 0: the check says what would be cut off, and changes nothing', async () => {
    expect(await platform()).toEqual(UNTOUCHED);
    const existing = await before('existing');
    expect(existing.filter(({ ok }) => !ok)).toEqual([]);
    expect(existing.at(-1)?.detail).toBe('1 pods run there and are left alone');
    expect((await before('ours')).filter(({ ok }) => !ok)).toEqual([
      {
        check: API,
        ok: false,
        detail: expect.stringMatching(
          /^api would no longer be reached; api would no longer reach out; Pod Security would refuse the next start of api: .*runAsNonRoot.*: keep apiNamespace: 'existing'/,
        ),
      },
    ]);
    expect(await platform()).toEqual(UNTOUCHED);
  });

  test('step 1: namespaces, rights and policies come, and it is reached and reaches out as before', async () => {
    const all = rules('existing');
    expect(
      all.filter(({ metadata, kind }) => (kind === 'Namespace' ? metadata.name : metadata.namespace) === API),
    ).toEqual([]);
    await kubectl(['apply', '--server-side', '-f', '-'], stream(all.filter(({ kind }) => kind === 'Namespace')));
    await kubectl(['apply', '--server-side', '-f', '-'], stream(all));
    const labels = { [LABELS.app]: LABELS.controllerApp };
    await kubectl(['apply', '-f', '-'], stream([pod(SYSTEM, 'controller', labels, true)]));
    controller = await running(SYSTEM, 'controller', [PORTS.controller]);
    await eventually('the controller is closed to strangers', async () => {
      const target = { by: 'tcp', host: controller?.address ?? '', port: PORTS.controller } as const;
      return (await probeFrom(stranger.pid, [target]))[0] === 'closed';
    });
    expect(await platform()).toEqual(UNTOUCHED);
    expect(await toController()).toBe('closed'); // no label yet
    // it may start again, too: nothing restricts its pods
    await kubectl(['create', '--dry-run=server', '-f', '-'], stream([pod(API, 'next')]));
  });

  test('step 2: a runner is reached from the pod with the label alone, and the API is as before', async () => {
    const client = { [LABELS.mcpClient]: 'true' };
    const pods = [
      pod(RUNNERS, 'runner', { [LABELS.app]: LABELS.runnerApp }, true),
      pod(API, 'reach-true', client, true),
      pod(API, 'reach-false', {}, true),
    ];
    await kubectl(['apply', '-f', '-'], stream(pods));
    const [, withLabel, without] = await Promise.all([
      running(RUNNERS, 'runner', [PORTS.runner]).then(found => {
        runner = found;
      }),
      running(API, 'reach-true', []),
      running(API, 'reach-false', []),
    ]);
    await eventually('the runner is open to the label', async () => (await toRunner(withLabel)) === 'open', 60_000);
    expect(await Promise.all([without, api].map(toRunner))).toEqual(['closed', 'closed']);
    expect(await platform()).toEqual(UNTOUCHED);
    // back from it
    await kubectl(['-n', API, 'delete', 'pod', 'reach-true', 'reach-false']);
    expect(await platform()).toEqual(UNTOUCHED);
  });

  test('step 3: the label admits it to the controller, and it is reached and reaches out as before', async () => {
    await kubectl(['-n', API, 'label', 'pod', 'api', `${LABELS.mcpClient}=true`]);
    await eventually('the controller is open to it', async () => (await toController()) === 'open', 60_000);
    expect(await platform()).toEqual(UNTOUCHED);
  });

  test('step 4: with the flag on for internal users, it reaches their browsers, and all else is as before', async () => {
    await eventually('a runner is open to it', async () => (await toRunner(api)) === 'open', 60_000);
    expect(await toController()).toBe('open');
    expect(await platform()).toEqual(UNTOUCHED);
    // the other way of that step: a second Deployment of the API, for internal users alone
    await kubectl(['apply', '-f', '-'], stream([pod(API, 'api-internal', { app: 'api', [LABELS.mcpClient]: 'true' })]));
    const everyone = api;
    api = await running(API, 'api-internal', [PORT]);
    await eventually('a runner is open to it too', async () => (await toRunner(api)) === 'open', 60_000);
    expect(await platform()).toEqual(UNTOUCHED);
    api = everyone;
    // back from it: the flag is the platform's, and sessions end by themselves
    await kubectl(['-n', API, 'delete', 'pod', 'api-internal']);
    await kubectl(['-n', RUNNERS, 'delete', 'pod', 'runner']);
    expect(await platform()).toEqual(UNTOUCHED);
  });

  test('back from step 3: without the label it is where it was', async () => {
    await kubectl(['-n', API, 'label', 'pod', 'api', `${LABELS.mcpClient}-`]);
    await eventually('the controller is closed to it', async () => (await toController()) === 'closed', 60_000);
    expect(await platform()).toEqual(UNTOUCHED);
  });

  test('step 5: with room for all users, it is reached and reaches out as before', async () => {
    const { limits } = ENVIRONMENTS.local;
    const larger = rules('existing', { limits: { ...limits, capacity: 2 * limits.capacity } });
    await kubectl(['apply', '--server-side', '-f', '-'], stream(larger));
    expect(await platform()).toEqual(UNTOUCHED);
  });

  test('back from step 1: what was applied is removed, and nothing of it is', async () => {
    const applied = rules('existing').filter(({ kind }) => kind !== 'Namespace');
    await kubectl(['delete', '-f', '-'], stream(applied));
    await kubectl(['-n', API, 'get', 'pod', 'api']);
    expect(await platform()).toEqual(UNTOUCHED);
  });

  test('with apiNamespace ours it would have been cut off, as the check said', async () => {
    await kubectl(['apply', '--server-side', '--force-conflicts', '-f', '-'], stream(rules('ours')));
    await eventually('it is cut off', async () => (await platform())['reaches its database'] === 'closed', 60_000);
    expect(await platform()).toMatchObject({ 'reached by its ingress': 'closed', 'resolves names': 'closed' });
  });
});
