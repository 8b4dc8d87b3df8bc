import { randomUUID } from 'node:crypto';
import type { KubernetesObject, V1Endpoint, V1EndpointSlice, V1Pod } from '@kubernetes/client-node';
import { expect, it, onTestFinished } from 'vitest';
import {
  ENDPOINT_MANAGER,
  LABELS,
  LEASED,
  PORTS,
  RUNNER_TEMPLATE,
  runnerName,
  SERVICE_ACCOUNTS,
  TOMBSTONES_MAX,
} from '../../../contract/names.ts';
import { nameSlice } from '../../../controller/runners/kubernetes/name-slices.ts';
import { entryOf, tombstone } from '../../../controller/runners/kubernetes/names.ts';
import { kubernetesRunners } from '../../../controller/runners/kubernetes/provider.ts';
import { neverAborts } from '../../../time/clock.ts';
import { eventually } from '../../eventually.ts';
import { type FakeApiServer, fakeApiServer } from '../../fakes/api-server.ts';
import { type SteppedClock, steppedClock } from '../../fakes/clock.ts';
import { providerContext } from '../../fakes/provider-context.ts';

// The names of runners below their one Service. That clients find them, and read under them why a lease ended, is shown on a cluster
// (acceptance.test.ts, names.test.ts).

const NAMESPACE = 'runners';
const TEMPLATE = {
  metadata: { name: RUNNER_TEMPLATE, namespace: NAMESPACE, uid: 'template-uid' },
  template: { spec: { containers: [{ name: 'browser', image: 'runner:1' }] } },
};
const OWN = '10.0.0.7';
const SLICE = 'runners-other-0';
const MINUTE_MS = 60_000;

async function api(there: readonly KubernetesObject[] = []): Promise<FakeApiServer> {
  const server = await fakeApiServer(NAMESPACE);
  onTestFinished(() => server[Symbol.asyncDispose]());
  server.objects.set(`podtemplates/${RUNNER_TEMPLATE}`, TEMPLATE);
  server.objects.set(`serviceaccounts/${SERVICE_ACCOUNTS.runner}`, {
    metadata: { name: SERVICE_ACCOUNTS.runner, uid: 'account-uid' },
  });
  for (const object of there)
    server.objects.set(`${object.kind === 'Pod' ? 'pods' : 'endpointslices'}/${object.metadata?.name}`, object);
  return server;
}

async function replica(server: FakeApiServer, podAddress: string | undefined = OWN) {
  const stop = new AbortController();
  const clock = steppedClock();
  const warm = { phase: 'warm', boot_id: randomUUID() };
  const provider = kubernetesRunners({
    ...providerContext({ clock, stopped: stop.signal, healthOf: async () => warm as never }), // what whenWarm reads
    config: server.config,
    namespace: NAMESPACE,
    templateName: RUNNER_TEMPLATE,
    podAddress: podAddress || undefined,
  });
  await provider.start();
  const end = async () => {
    stop.abort();
    await provider.stop();
  };
  onTestFinished(end);
  return { provider, clock, end };
}

/** Resolves when a sweep is over and the next one waits for its time; a call waits for ten seconds. */
const swept = (clock: SteppedClock): Promise<unknown> =>
  eventually('names are swept', () => clock.idleMs().some(left => left > 10_000 && left <= 20_000));

let addresses = 0;
/** A pod that runs, as the API server has it. */
function runningPod(state = 'warm', id: string = randomUUID()): { id: string; pod: V1Pod; name: string; ip: string } {
  const name = runnerName(id);
  const ip = `10.1.${Math.floor(addresses / 250)}.${(addresses++ % 250) + 1}`;
  const labels = {
    [LABELS.app]: LABELS.runnerApp,
    [LABELS.runnerId]: id,
    [LABELS.state]: state,
    [LABELS.nameSlice]: SLICE,
  };
  const metadata = { name, namespace: NAMESPACE, uid: id, labels };
  const status = { phase: 'Running', podIP: ip, conditions: [{ type: 'Ready', status: 'True' }] };
  return { id, name, ip, pod: { kind: 'Pod', metadata, status } as V1Pod }; // only what is looked at
}
const sliceOf = (...entries: readonly V1Endpoint[]): V1EndpointSlice => {
  const slice = nameSlice(SLICE, [...entries]);
  return { ...slice, metadata: { ...slice.metadata, resourceVersion: '1' } };
};
const liveEntry = (pod: V1Pod): V1Endpoint => entryOf(pod) as V1Endpoint; // it has an address

const slices = ({ objects }: FakeApiServer): V1EndpointSlice[] =>
  [...objects].filter(([key]) => key.startsWith('endpointslices/')).map(([, slice]) => slice as V1EndpointSlice);
const entries = (server: FakeApiServer): V1Endpoint[] => slices(server).flatMap(({ endpoints }) => endpoints ?? []);
const leadsTo = (server: FakeApiServer, name: string): string[] | undefined =>
  entries(server).find(({ hostname }) => hostname === name)?.addresses;
const writes = ({ calls }: FakeApiServer): string[] =>
  calls.filter(call => /^(POST|PUT|DELETE|PATCH) (endpointslices|services)/.test(call));

it('a name leads to its pod before the runner is warm, at its port, and is the only thing made beside the pod', async () => {
  const { id, pod, name, ip } = runningPod();
  const server = await api([pod]);
  const { provider } = await replica(server);
  expect(await provider.whenWarm(id, new AbortController().signal)).toMatchObject({ endpoint: `http://${ip}:8080` });
  expect(slices(server)).toMatchObject([
    {
      metadata: {
        name: SLICE,
        labels: {
          'kubernetes.io/service-name': 'runners',
          'endpointslice.kubernetes.io/managed-by': ENDPOINT_MANAGER,
          'service.kubernetes.io/headless': '',
        },
      },
      addressType: 'IPv4',
      endpoints: [{ hostname: name, addresses: [ip], conditions: { ready: true } }],
      ports: [{ port: PORTS.runner }],
    },
  ]);
  expect(writes(server)).toEqual(['POST endpointslices']);
  expect(new URL(provider.addressOf({ id, endpoint: '' }).mcpUrl).host).toBe(
    `${name}.runners.${NAMESPACE}.svc.cluster.local:8080`,
  );
});

it('a runner whose name is refused is not warm, in the words of the API server', async () => {
  const { id, pod } = runningPod();
  const server = await api([pod]);
  const { provider } = await replica(server);
  await eventually('the first sweep has written', () => writes(server).length > 0);
  server.objects.delete(`endpointslices/${SLICE}`);
  server.failNext('POST', 'endpointslices', { status: 403, message: 'endpointslices is forbidden: no' });
  await expect(provider.whenWarm(id, new AbortController().signal)).rejects.toMatchObject({
    code: 'runner_start_failed',
    message: expect.stringContaining('endpointslices is forbidden: no'),
  });
});

it('200 runners that start at once share writes', async () => {
  const all = Array.from({ length: 200 }, () => runningPod());
  const server = await api(all.map(({ pod }) => pod));
  const { provider } = await replica(server);
  await Promise.all(all.map(({ id }) => provider.whenWarm(id, new AbortController().signal)));
  for (const { name, ip } of all) expect(leadsTo(server, name)).toEqual([ip]);
  expect(writes(server).length).toBeLessThanOrEqual(4);
});

it('no more than 100 runners of one process have their names in one slice', async () => {
  const server = await api();
  const { provider } = await replica(server);
  const ids = Array.from({ length: 101 }, () => randomUUID());
  for (const id of ids) await provider.create(id, neverAborts());
  const places = ids.map(id => server.objects.get(`pods/${runnerName(id)}`)?.metadata?.labels?.[LABELS.nameSlice]);
  expect(places.filter(place => place === places[0])).toHaveLength(100);
  const another = await replica(await api());
  const [id] = ids;
  await another.provider.create(id ?? '', neverAborts());
  expect(new Set(places).size).toBe(2);
});

it('outlives the pod of its lease, and leads to the controller that says why it ended: one write, and no other object', async () => {
  const leased = runningPod('leased');
  const other = runningPod('leased');
  const server = await api([leased.pod, other.pod, sliceOf(liveEntry(leased.pod), liveEntry(other.pod))]);
  const { provider } = await replica(server);
  await provider.remove(leased.id);
  expect(server.objects.has(`pods/${leased.name}`)).toBe(false);
  expect(leadsTo(server, leased.name)).toEqual([OWN]);
  expect(leadsTo(server, other.name)).toEqual([other.ip]);
  expect(writes(server)).toEqual([`PUT endpointslices/${SLICE}`]);
  const { calls } = server;
  expect(calls.indexOf(`PUT endpointslices/${SLICE}`)).toBeLessThan(calls.indexOf(`DELETE pods/${leased.name}`));
});

it('goes with its pod when no client had it: with the next write, not by one of its own', async () => {
  const [warm, leased] = [runningPod(), runningPod('leased')];
  const server = await api([warm.pod, leased.pod, sliceOf(liveEntry(warm.pod), liveEntry(leased.pod))]);
  const { provider, clock } = await replica(server);
  await swept(clock);
  expect(await provider.remove(warm.id)).toBe('deleting');
  expect(writes(server)).toEqual([]);
  await provider.remove(leased.id);
  expect(leadsTo(server, warm.name)).toBeUndefined();
  expect(writes(server)).toEqual([`PUT endpointslices/${SLICE}`]);
});

it('leads to the controller too when its pod was lost with its node', async () => {
  const { id, pod, name } = runningPod('leased');
  const server = await api([sliceOf(liveEntry(pod))]);
  const { provider } = await replica(server);
  await eventually('it has seen the names', async () => {
    expect(await provider.remove(id)).toBe('gone');
    return leadsTo(server, name)?.[0] === OWN;
  });
});

it('is not kept where the controller does not know its own address', async () => {
  const { id, pod, name } = runningPod('leased');
  const server = await api([pod, sliceOf(liveEntry(pod))]);
  const { provider } = await replica(server, '');
  expect(await provider.remove(id)).toBe('deleting');
  expect(leadsTo(server, name)).not.toContain(OWN);
});

it('does not keep a runner from its end when the API server refuses it', async () => {
  const { id, pod, name } = runningPod('leased');
  const server = await api([pod, sliceOf(liveEntry(pod))]);
  const { provider } = await replica(server);
  server.failNext('PUT', 'endpointslices', { status: 403, message: 'endpointslices is forbidden' });
  await provider.remove(id);
  expect(server.objects.has(`pods/${name}`)).toBe(false);
  expect(writes(server)).toHaveLength(1);
});

it('a slice that another replica wrote in between is read again: neither change is lost', async () => {
  const [one, two, added] = [runningPod('leased'), runningPod('leased'), runningPod()];
  const server = await api([one.pod, two.pod, sliceOf(liveEntry(one.pod), liveEntry(two.pod))]);
  const [a, b] = [await replica(server), await replica(server, '10.0.0.8')];
  server.objects.set(`pods/${added.name}`, added.pod);
  await Promise.all([a.provider.remove(one.id), b.provider.remove(two.id)]);
  server.failNext('PUT', 'endpointslices', { status: 409, message: 'the object has been modified' });
  const late = await replica(server);
  await late.provider.whenWarm(added.id, new AbortController().signal);
  expect([one, two, added].map(({ name }) => leadsTo(server, name)?.[0])).toEqual([OWN, '10.0.0.8', added.ip]);
});

it('an answer that was lost is no second entry, and an entry that was moved stays moved', async () => {
  const { id, pod, name } = runningPod('leased');
  const server = await api([pod, sliceOf(liveEntry(pod))]);
  const { provider } = await replica(server);
  server.failNext('PUT', 'endpointslices', { status: 0, lost: true });
  await provider.remove(id);
  expect(entries(server)).toMatchObject([{ hostname: name, addresses: [OWN] }]);
  await provider.whenWarm(id, new AbortController().signal).catch(() => undefined);
  expect(leadsTo(server, name)).toEqual([OWN]);
});

it('a replica that was killed leaves names that lead to living runners; another removes those whose pods are gone', async () => {
  const [living, dead] = [runningPod(), runningPod()];
  const kept = { ...tombstone(runnerName(randomUUID()), '10.0.0.9'), hostname: runnerName(randomUUID()) };
  const server = await api([living.pod, sliceOf(liveEntry(living.pod), liveEntry(dead.pod), kept)]);
  const { clock } = await replica(server);
  const sweepAt = async (ms: number) => {
    await swept(clock);
    clock.advance(ms);
  };
  await sweepAt(2 * MINUTE_MS);
  await eventually('the dead one goes', () => leadsTo(server, dead.name) === undefined);
  expect([leadsTo(server, living.name), leadsTo(server, kept.hostname)]).toEqual([[living.ip], ['10.0.0.9']]);
  await sweepAt(8 * MINUTE_MS);
  await eventually('ten minutes after it was seen, the tombstone goes', () => !leadsTo(server, kept.hostname));
  expect(leadsTo(server, living.name)).toEqual([living.ip]);
});

it('a slice without names is deleted', async () => {
  const { pod, name } = runningPod();
  const server = await api([sliceOf(liveEntry(pod))]);
  const { clock } = await replica(server);
  await swept(clock);
  expect(leadsTo(server, name)).toBeDefined();
  clock.advance(2 * MINUTE_MS);
  await eventually('it goes', () => slices(server).length === 0);
});

it('the name of a lease that ends while its replica stops is handed over too', async () => {
  const { id, pod, name } = runningPod(LEASED);
  const server = await api([pod, sliceOf(liveEntry(pod))]);
  const first = await replica(server);
  await swept(first.clock);
  const removing = first.provider.remove(id);
  await Promise.all([first.end(), removing]);
  expect(entries(server).find(({ hostname }) => hostname === name)?.conditions?.ready).toBe(false);
});

it('names of ended leases are handed to another replica when theirs stops', async () => {
  const { id, pod, name } = runningPod('leased');
  const living = runningPod('leased');
  const server = await api([pod, living.pod, sliceOf(liveEntry(pod), liveEntry(living.pod))]);
  const one = await replica(server);
  await one.provider.remove(id);
  expect(leadsTo(server, name)).toEqual([OWN]);
  await one.end();
  // nothing answers at its address any more, so name servers leave it out
  expect(entries(server).find(({ hostname }) => hostname === name)).toMatchObject({ conditions: { ready: false } });
  await replica(server, '10.0.0.8');
  await eventually('the other one answers', () => leadsTo(server, name)?.[0] === '10.0.0.8');
  expect(entries(server)).toMatchObject([
    { hostname: name, conditions: { ready: true } },
    { hostname: living.name, addresses: [living.ip], conditions: { ready: true } },
  ]);
});

it('names of living runners that were deleted by hand come back', async () => {
  const { pod, name, ip } = runningPod('leased');
  const server = await api([pod, sliceOf(liveEntry(pod))]);
  const { clock } = await replica(server);
  await swept(clock);
  server.objects.delete(`endpointslices/${SLICE}`);
  clock.advance(20_000);
  await eventually('it is there again', () => leadsTo(server, name)?.[0] === ip);
});

it('the oldest give way, so that their number has a bound', async () => {
  const ended = Array.from({ length: TOMBSTONES_MAX }, () => tombstone(runnerName(randomUUID()), '10.0.0.9'));
  const { id, pod, name } = runningPod('leased');
  const server = await api([pod, sliceOf(liveEntry(pod), ...ended)]);
  const { provider, clock } = await replica(server);
  await swept(clock);
  clock.advance(1_000);
  await provider.remove(id);
  clock.advance(20_000);
  await eventually('one went', () => entries(server).length === TOMBSTONES_MAX);
  expect(leadsTo(server, name)).toEqual([OWN]);
});

it('is given back to Karpenter and the autoscaler while it sends its video, though the API server refuses it once', async () => {
  const server = await api();
  const { provider } = await replica(server);
  const id = randomUUID();
  await provider.create(id, neverAborts());
  const key = `pods/${runnerName(id)}`;
  const annotations = () => server.objects.get(key)?.metadata?.annotations;
  provider.markLeased(id, { sessionId: id, epoch: 1, userIdHash: 'a' });
  expect(annotations()).not.toHaveProperty(['karpenter.sh/do-not-disrupt']);
  await eventually('it is marked', () => annotations()?.['karpenter.sh/do-not-disrupt'] === 'true');
  // Neither Karpenter nor the autoscaler moves it while its lease lasts.
  expect(annotations()).toHaveProperty(['cluster-autoscaler.kubernetes.io/safe-to-evict'], 'false');
  const pod = server.objects.get(key);
  server.objects.set(key, { ...pod, metadata: { ...pod?.metadata, finalizers: ['test/video'] } });
  server.failNext('PATCH', 'pods', { status: 403 });
  expect(await provider.remove(id)).toBe('deleting');
  expect(annotations()).toHaveProperty(['karpenter.sh/do-not-disrupt']);
  expect(await provider.remove(id)).toBe('deleting');
  expect(annotations()).toEqual({});
  const patches = server.calls.filter(call => call === `PATCH ${key}`).length;
  expect(await provider.remove(id)).toBe('deleting');
  expect(server.calls.filter(call => call === `PATCH ${key}`)).toHaveLength(patches);
});
