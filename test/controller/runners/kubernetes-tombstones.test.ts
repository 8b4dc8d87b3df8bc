import { randomUUID } from 'node:crypto';
import type { KubernetesObject } from '@kubernetes/client-node';
import { expect, it, onTestFinished } from 'vitest';
import {
  ENDPOINT_MANAGER,
  LABELS,
  PORTS,
  RUNNER_TEMPLATE,
  runnerName,
  SERVICE_ACCOUNTS,
  TOMBSTONES_MAX,
} from '../../../contract/names.ts';
import { kubernetesRunners } from '../../../controller/runners/kubernetes/provider.ts';
import { eventually } from '../../eventually.ts';
import { fakeApiServer } from '../../fakes/api-server.ts';
import { steppedClock } from '../../fakes/clock.ts';
import { providerContext } from '../../fakes/provider-context.ts';

// The Service of a lease that has ended. That its clients read there why is shown on a cluster (acceptance.test.ts).

const NAMESPACE = 'runners';
const TEMPLATE = {
  metadata: { name: RUNNER_TEMPLATE, namespace: NAMESPACE, uid: 'template-uid' },
  template: { spec: { containers: [{ name: 'browser', image: 'runner:1' }] } },
};

async function provided(podAddress = '10.0.0.7', there: readonly [string, KubernetesObject][] = []) {
  const api = await fakeApiServer(NAMESPACE);
  api.objects.set(`podtemplates/${RUNNER_TEMPLATE}`, TEMPLATE);
  api.objects.set(`serviceaccounts/${SERVICE_ACCOUNTS.runner}`, {
    metadata: { name: SERVICE_ACCOUNTS.runner, uid: 'account-uid' },
  });
  for (const [key, object] of there) api.objects.set(key, object);
  const stop = new AbortController();
  const provider = kubernetesRunners({
    ...providerContext({ clock: steppedClock(), stopped: stop.signal }),
    config: api.config,
    namespace: NAMESPACE,
    templateName: RUNNER_TEMPLATE,
    podAddress,
  });
  await provider.start();
  onTestFinished(async () => {
    stop.abort();
    provider.stop();
    await api[Symbol.asyncDispose]();
  });
  return { api, provider, stop };
}
type Under = Awaited<ReturnType<typeof provided>>;

/** A runner that had a lease, or a warm one, and was removed. */
async function removed({ api, provider }: Under, lease = true): Promise<string> {
  const id = randomUUID();
  await provider.create(id);
  const pod = () => api.objects.get(`pods/${runnerName(id)}`);
  if (lease) {
    provider.markLeased(id, { sessionId: id, epoch: 1, userIdHash: 'a' });
    expect(pod()?.metadata?.annotations).not.toHaveProperty(['karpenter.sh/do-not-disrupt']);
    await eventually('it is marked', () => pod()?.metadata?.labels?.[LABELS.state] === 'leased');
    // Neither Karpenter nor the autoscaler moves it while its lease lasts.
    expect(pod()?.metadata?.annotations).toMatchObject({
      'karpenter.sh/do-not-disrupt': 'true',
      'cluster-autoscaler.kubernetes.io/safe-to-evict': 'false',
    });
  }
  await eventually('it is gone', async () => (await provider.remove(id)) === 'gone');
  return runnerName(id);
}

it('outlives the pod of its lease, and leads to the controller that says why it ended', async () => {
  const under = await provided();
  const name = await removed(under);
  const service = under.api.objects.get(`services/${name}`);
  expect(service?.metadata).toMatchObject({
    labels: { [LABELS.state]: 'ended' },
    ownerReferences: [{ kind: 'ServiceAccount', uid: 'account-uid' }],
  });
  expect(under.api.objects.get(`endpointslices/${name}`)).toMatchObject({
    metadata: {
      labels: {
        'kubernetes.io/service-name': name,
        'endpointslice.kubernetes.io/managed-by': ENDPOINT_MANAGER,
      },
      ownerReferences: [{ kind: 'Service', uid: service?.metadata?.uid }],
    },
    addressType: 'IPv4',
    endpoints: [{ addresses: ['10.0.0.7'] }],
    ports: [{ name: 'mcp', port: PORTS.controller }],
  });
});

it('goes with its pod when no client had it, and where the controller does not know its own address', async () => {
  const under = await provided();
  await removed(under, false);
  const without = await provided('');
  await removed(without);
  for (const { api } of [under, without]) expect(api.calls.join('\n')).not.toMatch(/PATCH services|endpointslices/);
});

it('goes when the controller stops that it leads to', async () => {
  const under = await provided();
  const name = await removed(under);
  under.api.objects.set(...tombstone('of another replica', 1));
  under.stop.abort();
  await eventually('it goes', () => !under.api.objects.has(`services/${name}`));
  expect(under.api.objects.has('services/of another replica')).toBe(true);
});

it('does not keep a runner from its end when the API server refuses it', async () => {
  const under = await provided();
  under.api.failNext('PATCH', 'services', { status: 403, message: 'services is forbidden' });
  const name = await removed(under);
  expect(under.api.objects.has(`pods/${name}`)).toBe(false);
  expect(under.api.calls.filter(call => call.startsWith('PATCH services'))).toHaveLength(1);
});

const tombstone = (name: string, minutesAgo: number): [string, KubernetesObject] => [
  `services/${name}`,
  {
    metadata: {
      name,
      labels: { [LABELS.state]: 'ended' },
      annotations: { [LABELS.endedAt]: new Date(Date.now() - minutesAgo * 60_000).toISOString() },
    },
  },
];

it('is removed ten minutes after the end, whichever replica kept it; a live lease’s stays', async () => {
  const live = { metadata: { name: 'live', labels: {} } };
  const { api } = await provided(undefined, [tombstone('over', 11), tombstone('lately', 9), ['services/live', live]]);
  await eventually('the old one goes', () => !api.objects.has('services/over'));
  for (const name of ['lately', 'live']) expect(api.objects.has(`services/${name}`)).toBe(true);
});

it('gives way to later ones, so that they leave the room that live leases have in the quota', async () => {
  const kept = TOMBSTONES_MAX / 2;
  const under = await provided();
  for (let index = 0; index < kept; index += 1) under.api.objects.set(...tombstone(`kept-${index}`, 1 + index / 100));
  const name = await removed(under);
  const left = [...under.api.objects.keys()].filter(key => key.startsWith('services/'));
  expect(left).toHaveLength(kept);
  expect(left).toContain(`services/${name}`);
  expect(left).not.toContain(`services/kept-${kept - 1}`);
});

it('is given back to Karpenter and the autoscaler while it sends its video, though the API server refuses it once', async () => {
  const under = await provided();
  const { api, provider } = under;
  const id = randomUUID();
  await provider.create(id);
  const key = `pods/${runnerName(id)}`;
  const annotations = () => api.objects.get(key)?.metadata?.annotations;
  provider.markLeased(id, { sessionId: id, epoch: 1, userIdHash: 'a' });
  await eventually('it is marked', () => annotations()?.['karpenter.sh/do-not-disrupt'] === 'true');
  const pod = api.objects.get(key);
  api.objects.set(key, { ...pod, metadata: { ...pod?.metadata, finalizers: ['test/video'] } });
  api.failNext('PATCH', 'pods', { status: 403 });
  expect(await provider.remove(id)).toBe('deleting');
  expect(annotations()).toHaveProperty(['karpenter.sh/do-not-disrupt']);
  expect(await provider.remove(id)).toBe('deleting');
  expect(annotations()).toEqual({});
  const patches = api.calls.filter(call => call === `PATCH ${key}`).length;
  expect(await provider.remove(id)).toBe('deleting');
  expect(api.calls.filter(call => call === `PATCH ${key}`)).toHaveLength(patches);
});
