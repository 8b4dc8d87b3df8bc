import { randomUUID } from 'node:crypto';
import { expect, it, onTestFinished } from 'vitest';
import { RUNNER_TEMPLATE } from '../../../contract/names.ts';
import type { ProviderWrite } from '../../../controller/ports/runners.ts';
import { kubernetesRunners } from '../../../controller/runners/kubernetes/provider.ts';
import { neverAborts } from '../../../time/clock.ts';
import { fakeApiServer } from '../../fakes/api-server.ts';
import { steppedClock } from '../../fakes/clock.ts';
import { providerContext } from '../../fakes/provider-context.ts';

const NAMESPACE = 'runners';
const TEMPLATE = {
  metadata: { name: RUNNER_TEMPLATE, namespace: NAMESPACE, uid: 'template-uid' },
  template: { spec: { containers: [{ name: 'browser', image: 'runner:1' }] } },
};

it('reports each write to the API server, the refused one too, and no read', async () => {
  const api = await fakeApiServer(NAMESPACE);
  api.objects.set(`podtemplates/${RUNNER_TEMPLATE}`, TEMPLATE);
  const writes: string[] = [];
  const onWrite = ({ verb, resource, ok }: ProviderWrite) => writes.push(`${verb} ${resource} ${ok ? 'ok' : 'failed'}`);
  const provider = kubernetesRunners({
    ...providerContext({ clock: steppedClock(), onWrite }),
    ...{ config: api.config, namespace: NAMESPACE, templateName: RUNNER_TEMPLATE },
  });
  await provider.start();
  onTestFinished(async () => {
    provider.stop();
    await api[Symbol.asyncDispose]();
  });
  const id = randomUUID();
  api.failNext('POST', 'pods', { status: 503 });
  await provider.create(id, neverAborts());
  await provider.deathOf(id);
  await provider.remove(id);
  const sent = api.calls.filter(call => !call.startsWith('GET ')).length;
  expect(writes).toHaveLength(sent);
  expect(writes.filter(write => write.endsWith('pods failed'))).toEqual(['create pods failed']);
  expect(writes).toEqual(expect.arrayContaining(['create pods ok', 'delete pods ok']));
});
