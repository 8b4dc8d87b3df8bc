import { randomUUID } from 'node:crypto';
import { CoreV1Api, KubeConfig } from '@kubernetes/client-node';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { clusterEnvironment, kubectl } from '../../cluster/kubectl.ts';
import { namesOfRunners } from '../../cluster/names.ts';
import { LABELS, LEASED, NAMESPACES, runnerName } from '../../contract/names.ts';
import { MERGE_PATCH } from '../../controller/runners/kubernetes/api.ts';
import { kubernetesRunners } from '../../controller/runners/kubernetes/provider.ts';
import { neverAborts } from '../../time/clock.ts';
import { eventually } from '../eventually.ts';
import { providerContext } from '../fakes/provider-context.ts';
import { apiCalls } from '../simulate/plane.ts';
import { addressOf, podsOf } from './pods.ts';
import { asController, copyRunnersNamespace, type NamespaceCopy } from './runners-namespace-copy.ts';

// Names of many runners on a real API server, which counts what is written. Pods wait for a node that does not exist; an administrator gives
// them addresses, as a kubelet does.

const RUNNERS = 60;
const WRITES = /^(POST|PUT|PATCH|DELETE|APPLY) (pods|services|endpoints|endpointslices|ipaddresses)$/;

let copy: NamespaceCopy;
beforeAll(async () => {
  copy = await copyRunnersNamespace('omicron-browser-copy-names', { admissionPolicies: true });
  await copy.template('never-runs', ({ template }) => {
    if (template?.spec) template.spec.nodeSelector = { ...template.spec.nodeSelector, nowhere: 'true' };
  });
});
afterAll(() => copy?.[Symbol.asyncDispose]());

/** Writes to the API server by everyone, for each runner. */
async function writesOf(work: () => Promise<unknown>): Promise<Record<string, number>> {
  const before = await apiCalls();
  await work();
  const more = [...(await apiCalls())].map(([key, count]) => [key, count - (before.get(key) ?? 0)] as const);
  return Object.fromEntries(more.filter(([key, count]) => WRITES.test(key) && count > 0));
}
const sliceWrites = (writes: Record<string, number>): number =>
  Object.entries(writes).reduce((sum, [key, count]) => sum + (key.endsWith('endpointslices') ? count : 0), 0);

test('a runner is one write at its creation, one at its lease and two at its end, and shares those of its name', {
  timeout: 120_000,
}, async () => {
  const [controller] = await podsOf(NAMESPACES.system, `${LABELS.app}=${LABELS.controllerApp}`);
  const admin = new KubeConfig();
  admin.loadFromFile(clusterEnvironment().KUBECONFIG ?? '');
  const core = admin.makeApiClient(CoreV1Api);
  const stop = new AbortController();
  const health = { phase: 'warm', boot_id: randomUUID() };
  const podAddress = addressOf(controller ?? {});
  const runners = kubernetesRunners({
    ...providerContext({ stopped: stop.signal, healthOf: async () => health as never }), // what whenWarm reads
    config: await asController(controller?.metadata?.name),
    namespace: copy.namespace,
    templateName: 'never-runs',
    podAddress,
  });
  await runners.start();
  const ids = Array.from({ length: RUNNERS }, () => randomUUID());
  const each = <T>(work: (id: string, index: number) => Promise<T>) => Promise.all(ids.map(work));

  const creation = await writesOf(async () => {
    await each(id => runners.create(id, neverAborts()));
    await each((id, index) => {
      const ip = `10.9.0.${index + 1}`;
      const status = { podIP: ip, podIPs: [{ ip }], conditions: [{ type: 'Ready', status: 'True' }] };
      const pod = { name: runnerName(id), namespace: copy.namespace, body: { status } };
      return core.patchNamespacedPodStatus(pod, MERGE_PATCH);
    });
    await each(id => runners.whenWarm(id, AbortSignal.timeout(30_000)));
  });
  const names = await namesOfRunners(copy.namespace);
  expect(names.map(({ hostname }) => hostname).sort()).toEqual(ids.map(id => runnerName(id)).sort());
  expect(new Set(names.flatMap(({ addresses }) => addresses)).size).toBe(RUNNERS);
  expect(await kubectl(['-n', copy.namespace, 'get', 'services,endpoints', '-o', 'name'])).toBe('');

  const lease = await writesOf(async () => {
    for (const id of ids) runners.markLeased(id, { sessionId: randomUUID(), epoch: 1, userIdHash: 'hash' });
    const leased = `${LABELS.state}=${LEASED}`;
    await eventually('all are leases', async () => (await podsOf(copy.namespace, leased)).length === RUNNERS);
  });
  const end = await writesOf(() =>
    each(id => eventually('it is gone', async () => (await runners.remove(id)) === 'gone', 60_000)),
  );
  const ended = await namesOfRunners(copy.namespace);
  expect(ended.map(({ addresses }) => addresses)).toEqual(ids.map(() => [podAddress]));

  process.stdout.write(`writes for ${RUNNERS} runners: ${JSON.stringify({ creation, lease, end })}\n`);
  // The pool of the deployment may make or lose a runner meanwhile.
  const near = (count: number | undefined) => count !== undefined && count >= RUNNERS && count <= RUNNERS + 4;
  expect(near(creation['POST pods'])).toBe(true);
  expect(near(lease['PATCH pods'])).toBe(true);
  expect(near(end['DELETE pods'])).toBe(true);
  expect(end['PATCH pods'] ?? 0).toBeLessThanOrEqual(RUNNERS + 4); // gives it back to the autoscaler while it ends
  // a tenth of a write each
  for (const writes of [creation, end]) expect(sliceWrites(writes)).toBeLessThanOrEqual(RUNNERS / 10);
  expect(
    Object.keys({ ...creation, ...lease, ...end }).filter(key => /services|endpoints$|ipaddresses/.test(key)),
  ).toEqual([]);
  stop.abort();
  await runners.stop();
});
