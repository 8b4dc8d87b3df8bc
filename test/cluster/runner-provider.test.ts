import { randomUUID } from 'node:crypto';
import type { V1Pod } from '@kubernetes/client-node';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { kubectl } from '../../cluster/kubectl.ts';
import { namesOfRunners } from '../../cluster/names.ts';
import {
  KEEP_POD,
  LABELS,
  NAMESPACES,
  PORTS,
  RUNNER_COMMAND,
  RUNNER_TEMPLATE,
  runnerName,
  SERVICE_ACCOUNTS,
} from '../../contract/names.ts';
import { kubernetesRunners } from '../../controller/runners/kubernetes/provider.ts';
import { neverAborts } from '../../time/clock.ts';
import { type ProviderUnderTest, runnerProviderContract } from '../controller/runners/provider.contract.ts';
import { eventually } from '../eventually.ts';
import { providerContext } from '../fakes/provider-context.ts';
import { processesOf, procFile } from './node.ts';
import { containerOf, podsOf, uidOf } from './pods.ts';
import { asController, copyRunnersNamespace, type NamespaceCopy } from './runners-namespace-copy.ts';

// In this process, under the controller's own account, with pods of the deployment's template. Templates that the
// admission policies would refuse are in a namespace of their own, without them.

let copy: NamespaceCopy;
let brokenCopy: NamespaceCopy;
beforeAll(async () => {
  copy = await copyRunnersNamespace('omicron-browser-copy', { admissionPolicies: true });
  brokenCopy = await copyRunnersNamespace('omicron-browser-copy-broken', { admissionPolicies: false });
  await brokenCopy.template('runner-start-failed', ({ template }) => {
    for (const browser of template?.spec?.containers ?? [])
      browser.image = 'localhost/omicron-browser-runner:never-built';
  });
  await brokenCopy.template('sandbox-runtime-required', ({ template }) => {
    for (const { securityContext } of template?.spec?.containers ?? [])
      if (securityContext) securityContext.seccompProfile = { type: 'RuntimeDefault' };
  });
});
afterAll(async () => {
  await copy[Symbol.asyncDispose]();
  await brokenCopy[Symbol.asyncDispose]();
});

async function podRunners() {
  const [controller] = await podsOf(NAMESPACES.system, `${LABELS.app}=${LABELS.controllerApp}`);
  const config = await asController(controller?.metadata?.name);
  const started: { stop(): Promise<void> }[] = [];
  const ended = new Set<string>();
  const provider = async ({ namespace }: NamespaceCopy = copy, templateName: string = RUNNER_TEMPLATE) => {
    const runners = kubernetesRunners({
      ...providerContext(),
      config,
      namespace,
      templateName,
      // At a change, a controller looks which of its runners died.
      onChange: async () => {
        for (const id of made) if ((await runners.deathOf(id))?.ended) ended.add(id);
      },
    });
    const made: string[] = [];
    await runners.start();
    started.push(runners);
    return {
      ...runners,
      create: (id: string, signal: AbortSignal) => {
        made.push(id);
        return runners.create(id, signal);
      },
    };
  };
  return {
    another: provider,
    broken: (why: 'runner_start_failed' | 'sandbox_runtime_required') => provider(brokenCopy, why.replaceAll('_', '-')),
    published: (id: string) => ({
      mcpUrl: `http://${runnerName(id)}.runners.${copy.namespace}.svc.cluster.local:${PORTS.runner}/mcp`,
      workload: runnerName(id),
    }),
    async kill(id: string) {
      const [pod] = await podsOf(copy.namespace, `${LABELS.runnerId}=${id}`);
      const pids = pod ? await processesOf(containerOf(pod, 'browser')) : [];
      for (const pid of pids)
        if ((await procFile(pid, 'cmdline'))?.startsWith('node\0')) return void process.kill(pid, 'SIGKILL');
      throw new Error(`no runner process of ${id}`);
    },
    async leftovers(id: string) {
      const found = await Promise.all(
        [copy, brokenCopy].map(async ({ namespace }) => [
          ...(await kubectl(['-n', namespace, 'get', 'pods', '-l', `${LABELS.runnerId}=${id}`, '-o', 'name'])).split(
            '\n',
          ),
          ...(await namesOfRunners(namespace)).map(({ hostname = '' }) => hostname).filter(name => name.endsWith(id)),
        ]),
      );
      return found.flat().filter(name => name !== '');
    },
    endNoticed: (id: string) => ended.has(id),
    async [Symbol.asyncDispose]() {
      for (const each of started) await each.stop();
    },
  };
}

runnerProviderContract('Kubernetes, with a browser', async (): Promise<ProviderUnderTest> => podRunners());

it('says in the policy’s own words why the API server refuses a pod', async () => {
  await using under = await podRunners();
  const other = await copy.template('another-image', ({ template }) => {
    for (const browser of template?.spec?.containers ?? []) browser.image = 'localhost/another:1';
  });
  const provider = await under.another(copy, other);
  await expect(provider.create(randomUUID(), neverAborts())).rejects.toMatchObject({
    code: 'runner_start_failed',
    message: expect.stringMatching(/^The API server refused the pod: .*'runner-pod-image'.*and no other/),
  });
});

it('[S6] a leased pod says whose it is, and outlives the template that warm ones go with', async () => {
  await using under = await podRunners();
  const other = await copy.template('goes-away', ({ template }) => {
    if (template?.spec) template.spec.nodeSelector = { ...template.spec.nodeSelector, nowhere: 'true' }; // owners need no processes
  });
  const provider = await under.another(copy, other);
  const [leased, warm] = [randomUUID(), randomUUID()];
  for (const id of [leased, warm]) await provider.create(id, neverAborts());
  const lease = { sessionId: randomUUID(), epoch: 7, userIdHash: 'a-keyed-hash' };
  provider.markLeased(leased, lease);
  const podOf = async (id: string) => (await podsOf(copy.namespace, `${LABELS.runnerId}=${id}`))[0];
  const owned = await eventually('the claim is written on the pod', async () => {
    const { metadata } = (await podOf(leased)) ?? {};
    return metadata?.labels?.[LABELS.state] === 'leased' ? metadata : null;
  });
  expect(owned.labels).toMatchObject({
    [LABELS.sessionId]: lease.sessionId,
    [LABELS.epoch]: '7',
    [LABELS.userIdHash]: lease.userIdHash,
  });
  expect(owned.ownerReferences).toMatchObject([{ kind: 'ServiceAccount', name: SERVICE_ACCOUNTS.runner }]);
  await kubectl(['-n', copy.namespace, 'delete', 'podtemplate', other]);
  await eventually('the warm one goes', async () => (await podOf(warm)) === undefined, 60_000);
  expect(await podOf(leased)).toMatchObject({ metadata: { uid: owned.uid } });
  expect(owned.annotations).toMatchObject(KEEP_POD);
  const pod = ['-n', copy.namespace, 'pod', runnerName(leased)];
  const setFinalizers = (finalizers: readonly string[]) =>
    kubectl(['patch', ...pod, '--type=merge', '-p', JSON.stringify({ metadata: { finalizers } })]);
  await setFinalizers(['omicron.dev/test']);
  try {
    await eventually('Karpenter and the autoscaler may take its node while it ends', async () => {
      expect(await provider.remove(leased)).toBe('deleting');
      const { metadata } = JSON.parse(await kubectl(['get', ...pod, '-o', 'json'])) as V1Pod;
      const isKept = Object.keys(KEEP_POD).some(name => metadata?.annotations?.[name] !== undefined);
      return metadata?.deletionTimestamp !== undefined && !isKept;
    });
  } finally {
    await setFinalizers([]);
  }
  await eventually('it is removed', async () => (await provider.remove(leased)) === 'gone', 60_000);
});

it('a runner removed while it starts is gone at once, not after the grace that recordings have', async () => {
  await using under = await podRunners();
  const provider = await under.another();
  const id = randomUUID();
  await provider.create(id, neverAborts());
  const [pod] = await podsOf(copy.namespace, `${LABELS.runnerId}=${id}`);
  // The moment in which the sidecar has begun and hears no signal yet; before it, there is no process to see.
  await eventually(
    'the uploader begins',
    async () => {
      for (const pid of await processesOf(uidOf(pod ?? {})))
        if ((await procFile(pid, 'cmdline'))?.includes(RUNNER_COMMAND.uploaderMain)) return true;
      return false;
    },
    60_000,
  );
  await eventually('it is gone', async () => (await provider.remove(id)) === 'gone', 60_000);
});
