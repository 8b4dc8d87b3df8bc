import { randomUUID } from 'node:crypto';
import { expect, it, onTestFinished } from 'vitest';
import { LABELS, RUNNER_TEMPLATE, runnerName } from '../../../contract/names.ts';
import { kubernetesRunners } from '../../../controller/runners/kubernetes/provider.ts';
import { neverAborts } from '../../../time/clock.ts';
import { eventually } from '../../eventually.ts';
import { fakeApiServer } from '../../fakes/api-server.ts';
import { steppedClock } from '../../fakes/clock.ts';
import { providerContext } from '../../fakes/provider-context.ts';

// The provider beside an API server that answers with an error, late, or not at all.

const NAMESPACE = 'runners';
const TEMPLATE = {
  metadata: { name: RUNNER_TEMPLATE, namespace: NAMESPACE, uid: 'template-uid' },
  template: { spec: { containers: [{ name: 'browser', image: 'runner:1' }] } },
};

async function provided(namePrefix?: string) {
  const clock = steppedClock();
  const api = await fakeApiServer(NAMESPACE);
  api.objects.set(`podtemplates/${RUNNER_TEMPLATE}`, TEMPLATE);
  const provider = kubernetesRunners({
    ...providerContext({ clock }),
    config: api.config,
    namespace: NAMESPACE,
    templateName: RUNNER_TEMPLATE,
    namePrefix,
  });
  await provider.start();
  onTestFinished(async () => {
    provider.stop();
    await api[Symbol.asyncDispose]();
  });
  const id = randomUUID();
  const made = () => [...api.objects.keys()].filter(key => key.endsWith(id));
  return { api, provider, clock, id, made, pod: `pods/${runnerName(id)}` };
}

it('[S12] pods have the prefix of the deployment in their names, by which they are found again', async () => {
  const { api, provider, id, made } = await provided('team-a-');
  await provider.create(id, neverAborts());
  expect(made()).toEqual([`pods/team-a-${id}`]);
  const { workload, mcpUrl } = provider.addressOf({ id, endpoint: '' });
  expect([workload, new URL(mcpUrl).hostname]).toEqual([
    `team-a-${id}`,
    `team-a-${id}.runners.${NAMESPACE}.svc.cluster.local`,
  ]);
  expect(await provider.deathOf(id)).toBeNull();
  await provider.remove(id);
  expect(api.calls).toContain(`DELETE pods/team-a-${id}`);
});

const times = (calls: readonly string[], call: string) => calls.filter(each => each === call).length;

it('a server is asked for a pod no longer than its start lasts', async () => {
  const { api, provider, id, made } = await provided();
  const over = new AbortController();
  api.failNext('POST', 'pods', { status: 503 }, { status: 503 });
  const creating = provider.create(id, over.signal);
  over.abort(new Error('its time is over'));
  await expect(creating).rejects.toThrow('its time is over');
  await expect(provider.create(id, over.signal)).rejects.toThrow('its time is over');
  expect(times(api.calls, 'POST pods')).toBeLessThanOrEqual(1); // the one that was on its way
  expect(made()).toEqual([]);
});

it.each([429, 500, 503, 504])('a server that answers %i is asked again', async status => {
  const { api, provider, id, made, pod } = await provided();
  api.failNext('POST', 'pods', { status }, { status });
  await provider.create(id, neverAborts());
  expect(times(api.calls, 'POST pods')).toBe(3);
  expect(made()).toEqual([pod]);
});

it('waits as long as Retry-After says', async () => {
  const { api, provider, clock, id } = await provided();
  api.failNext('POST', 'pods', { status: 429, headers: { 'retry-after': '2' } });
  await provider.create(id, neverAborts());
  expect(clock.waitedMs).toEqual([2_000]);
});

it('an answer that was lost is unknown: asked again, what is there is its own', async () => {
  const { api, provider, id, made, pod } = await provided();
  api.failNext('POST', 'pods', { status: 0, lost: true });
  await provider.create(id, neverAborts());
  expect(times(api.calls, 'POST pods')).toBe(2);
  expect(made()).toEqual([pod]);
});

it('another runner’s pod under its name is not taken for its own (409)', async () => {
  const { api, provider, id } = await provided();
  const name = runnerName(id);
  api.objects.set(`pods/${name}`, { metadata: { name, uid: 'other', labels: { [LABELS.runnerId]: 'other' } } });
  await expect(provider.create(id, neverAborts())).rejects.toMatchObject({ code: 'runner_start_failed' });
});

it('a refusal by a policy that does not know the template yet is tried again; by a quota it is reported', async () => {
  const { api, provider, id, made, pod } = await provided();
  const policy = `pods "x" is forbidden: ValidatingAdmissionPolicy 'runner-pod-image' with binding 'runner-pod-image' denied request: a runner runs the image runner:2 and no other`;
  api.failNext('POST', 'pods', { status: 403, message: policy }, { status: 422, message: policy });
  await provider.create(id, neverAborts());
  expect(made()).toEqual([pod]);

  const another = randomUUID();
  api.failNext('POST', 'pods', { status: 403, message: 'exceeded quota: runners' });
  await expect(provider.create(another, neverAborts())).rejects.toMatchObject({
    code: 'runner_start_failed',
    message: expect.stringContaining('exceeded quota: runners'),
  });
});

it('removes the pod that it means, by its UID, and takes another one under its name for gone (409)', async () => {
  const { api, provider, id } = await provided();
  await provider.create(id, neverAborts());
  api.failNext('DELETE', 'pods', { status: 409, message: 'Precondition failed: UID in precondition' });
  expect(await provider.remove(id)).toBe('deleting');
  expect(await provider.remove(id)).toBe('gone');
});

it('a watch that is Gone (410) is listed again', async () => {
  const { api, provider, id } = await provided();
  const name = runnerName(id);
  api.gone(() =>
    api.objects.set(`pods/${name}`, {
      metadata: {
        name,
        namespace: NAMESPACE,
        uid: 'u',
        labels: { [LABELS.app]: LABELS.runnerApp, [LABELS.runnerId]: id },
      },
    }),
  );
  await eventually('it sees what it missed', async () => (await provider.list()).includes(id));
});
