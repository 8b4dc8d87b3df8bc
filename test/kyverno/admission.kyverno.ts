import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { apply, clusterEnvironment, kubectl, localTool, tryKubectl } from '../../cluster/kubectl.ts';
import { NAMESPACES } from '../../contract/names.ts';
import { ENVIRONMENTS } from '../../manifests/environments.ts';
import { renderObjects } from '../../manifests/render.ts';
import { startRegistry } from '../../release/oci/local-registry.ts';
import { eventually } from '../eventually.ts';
import { buildGoTool } from '../go-tool.ts';
import { changedImage, imageLayout, pushTestImage, type TestImage } from './test-images.ts';

// Kyverno's admission controller, as a process beside the API server of the cluster beside the checkout, which it answers on loopback. The
// policy is on while this runs: no runner starts then, as images of that cluster are not signed.

const MODULE = 'github.com/kyverno/kyverno';
const NAMESPACE = 'kyverno';
const NAME = 'image-of-the-test';
const ROOM = { cpu: '10m', memory: '16Mi', 'ephemeral-storage': '16Mi' };
const ours = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const others = generateKeyPairSync('ec', { namedCurve: 'P-256' });

let registry: Awaited<ReturnType<typeof startRegistry>>;
let kyverno: ChildProcess;
let crds: string[] = [];
const push = (name: string, image: TestImage) => pushTestImage(registry.host, name, image);

/** The answer of the API server to a pod with this image in the controller's namespace. */
async function create(image: string): Promise<string> {
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: NAME, namespace: NAMESPACES.system },
    spec: {
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 0,
      securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } },
      containers: [
        {
          name: 'image',
          image,
          resources: { requests: ROOM, limits: ROOM },
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
        },
      ],
    },
  };
  const { ok, stdout, stderr } = await tryKubectl(['create', '-f', '-'], JSON.stringify(pod));
  if (ok) await kubectl(['-n', NAMESPACES.system, 'delete', 'pod', NAME, '--now']);
  return ok ? stdout.trim() : stderr.trim();
}
const ADMITTED = `pod/${NAME} created`;
const REFUSED = /denied the request: .*an image is not signed by the key of this deployment/s;

/** Kyverno as its developers run it outside of a cluster. */
function startKyverno(program: string): ChildProcess {
  const { KUBECONFIG = '' } = clusterEnvironment();
  const account = (name: string) => `system:serviceaccount:${NAMESPACE}:${name}`;
  const args = [
    ...[`-kubeconfig=${KUBECONFIG}`, '-serverIP=127.0.0.1:9443', '-webhookServerHost=127.0.0.1'],
    ...['-allowInsecureRegistry', '-disableMetrics', '-controllerRuntimeMetricsAddress=0'],
    ...[`-backgroundServiceAccountName=${account('background')}`, `-reportsServiceAccountName=${account('reports')}`],
    ...['-caSecretName=kyverno-ca', '-tlsSecretName=kyverno-tls'],
  ];
  const env = {
    ...process.env,
    ...{ KYVERNO_NAMESPACE: NAMESPACE, KYVERNO_POD_NAME: 'process-of-the-test', KYVERNO_DEPLOYMENT: 'kyverno' },
    ...{ KYVERNO_SERVICEACCOUNT_NAME: 'kyverno', INIT_CONFIG: 'kyverno', METRICS_CONFIG: 'kyverno-metrics' },
  };
  return spawn(program, args, { env, stdio: 'ignore' });
}

/** `waits`: until all of it is gone, which takes the cluster minutes. */
async function removeKyverno(waits: boolean): Promise<void> {
  const managed = ['-l', 'webhook.kyverno.io/managed-by=kyverno'];
  await kubectl(['delete', 'validatingwebhookconfigurations,mutatingwebhookconfigurations', ...managed]);
  await kubectl(['delete', ...crds, '--ignore-not-found', `--wait=${waits}`]);
  await kubectl(['delete', 'namespace', NAMESPACE, '--ignore-not-found', `--wait=${waits}`]);
}

describe.skipIf(localTool() === undefined)('the API server of a cluster, with Kyverno and the policy', () => {
  beforeAll(async () => {
    const build = { name: 'kyverno-admission', folder: import.meta.dirname, module: `${MODULE}/cmd/kyverno` };
    const program = buildGoTool(build, why => {
      throw new Error(why);
    });
    const options = { cwd: import.meta.dirname, encoding: 'utf8' } as const;
    const source = execFileSync('go', ['list', '-m', '-f', '{{.Dir}}', MODULE], options).trim();
    const folders = ['kyverno', 'policies.kyverno.io', 'reports', 'policyreport'];
    crds = folders.flatMap(folder => ['-f', join(source, 'config', 'crds', folder)]);
    await removeKyverno(true); // of a run that was cut short
    await kubectl(['apply', '--server-side', ...crds]);
    const configMap = (name: string, data: Record<string, string>) => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, namespace: NAMESPACE },
      data,
    });
    await apply([
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } },
      configMap('kyverno', { webhooks: '{}' }),
      configMap('kyverno-metrics', { namespaces: '{"exclude":[],"include":[]}' }),
    ]);
    registry = await startRegistry(true);
    kyverno = startKyverno(program ?? '');
    const publicKey = String(ours.publicKey.export({ type: 'spki', format: 'pem' }));
    const objects = renderObjects({ ...ENVIRONMENTS.local, signedImages: { publicKey } });
    const policy = objects.get('core/cluster/imagevalidatingpolicy.omicron-signed-images.yaml');
    await eventually('Kyverno takes the policy', () => apply([policy ?? {}]), 60_000);
    await apply([objects.get(`core/cluster/namespace.${NAMESPACES.system}.yaml`) ?? {}]);
    const unsigned = await push('first', await imageLayout('first'));
    const isOn = async () => {
      const answer = await create(unsigned);
      if (!REFUSED.test(answer)) throw new Error(answer);
      return true;
    };
    await eventually('the policy is on', isOn, 60_000);
  });
  afterAll(async () => {
    await removeKyverno(false);
    kyverno?.kill('SIGKILL');
    await registry?.[Symbol.asyncDispose]();
  }, 120_000);

  it('admits an image that the key signed', async () => {
    expect(await create(await push('signed', await imageLayout('signed', ours.privateKey)))).toBe(ADMITTED);
  });

  it.each([
    ['an unsigned image', () => imageLayout('unsigned')],
    ['a foreign image, which another key signed', () => imageLayout('foreign', others.privateKey)],
    ['a changed image, with the signatures of the original', () => changedImage(ours.privateKey)],
  ])('refuses %s', async (_, image) => {
    expect(await create(await push('refused', await image()))).toMatch(REFUSED);
  });

  it('admits nothing while Kyverno is away', async () => {
    const signed = await push('later', await imageLayout('later', ours.privateKey));
    kyverno.kill('SIGKILL');
    await once(kyverno, 'exit');
    expect(await create(signed)).toMatch(/failed calling webhook .*kyverno/);
  });
});
