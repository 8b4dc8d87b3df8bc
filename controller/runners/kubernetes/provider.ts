import { CoreV1Api, DiscoveryV1Api, type KubeConfig, type V1Pod, type V1PodTemplate } from '@kubernetes/client-node';
import { LABELS, PORTS, runnerHost, runnerName } from '../../../contract/names.ts';
import { OmicronError } from '../../../contract/problem.ts';
import type { ProviderContext, RunnerProvider } from '../../ports/runners.ts';
import { apiCalls, countWrites } from './api.ts';
import { knownPod } from './known-pod.ts';
import { markLeased } from './mark.ts';
import { nameSlices } from './name-slices.ts';
import { runnerNames } from './names.ts';
import { templateDigest } from './objects.ts';
import { runnerPods } from './pods.ts';
import { deathOfPod, POD_GONE } from './verdict.ts';
import { whenWarm } from './warm.ts';
import { Watched } from './watched.ts';

export interface KubernetesRunners
  extends Pick<ProviderContext, 'healthOf' | 'onChange' | 'onWrite' | 'stopped' | 'clock' | 'log'> {
  config: KubeConfig;
  namespace: string;
  /** Name of the PodTemplate that Argo CD syncs. */
  templateName: string;
  /** Prefix of the names of pods. */
  namePrefix?: string | undefined;
  /** Address at which ended leases are answered: this controller's pod. Undefined: nowhere, once their pods are gone. */
  podAddress?: string | undefined;
}

export interface WatchingProvider extends RunnerProvider {
  /** Resolves when it knows what exists; before anything else. */
  start(): Promise<void>;
  /** Resolves when the names that lead to this controller are handed over; its `stopped` has aborted. */
  stop(): Promise<void>;
}

/** Runners as pods, instantiated from the synced PodTemplate. */
export function kubernetesRunners(options: KubernetesRunners): WatchingProvider {
  const { config, namespace, templateName, namePrefix, podAddress, onChange, onWrite, clock, log } = options;
  const nameOf = (runnerId: string) => runnerName(runnerId, namePrefix);
  const core = countWrites(config.makeApiClient(CoreV1Api), onWrite);
  const call = apiCalls(clock);
  const labelSelector = `${LABELS.app}=${LABELS.runnerApp}`;
  const pods = new Watched<V1Pod>({
    config,
    path: `/api/v1/namespaces/${namespace}/pods`,
    list: page => call(() => core.listNamespacedPod({ namespace, labelSelector, ...page })),
    keep: knownPod,
    labelSelector,
    onChange: ({ metadata }) => {
      const runnerId = metadata?.labels?.[LABELS.runnerId];
      if (runnerId !== undefined) onChange(runnerId);
    },
    clock,
    log,
  });
  const templates = new Watched<V1PodTemplate>({
    config,
    path: `/api/v1/namespaces/${namespace}/podtemplates`,
    list: page => call(() => core.listNamespacedPodTemplate({ namespace, ...page })),
    keep: template => template,
    clock,
    log,
  });
  const template = (): V1PodTemplate => {
    const found = templates.get(templateName, namespace);
    if (found) return found;
    const detail = `No PodTemplate ${templateName} exists in namespace ${namespace}; sync the manifests.`;
    throw new OmicronError('runner_start_failed', detail);
  };
  const discovery = countWrites(config.makeApiClient(DiscoveryV1Api), onWrite);
  const slices = nameSlices({ discovery, call, namespace, clock });
  const names = runnerNames({ ...options, slices, pods, nameOf });
  const parts = { ...options, core, call, pods, template, nameOf, names };
  const runners = runnerPods(parts);
  const digest = digestOf(template);

  return {
    name: 'kubernetes',
    capabilities: { holdsSiteRules: true, keepsBrowserFiles: true, launchesAtOnce: 64 },
    async start() {
      await Promise.all([pods.start(), templates.start()]);
      names.start();
    },
    async stop() {
      pods.stop();
      templates.stop();
      if (podAddress !== undefined)
        await names.handOver().catch(err => log.warn({ err }, 'tombstones not handed over'));
    },
    templateDigest: async () => digest(),
    create: runners.create,
    whenWarm: (runnerId, signal) => whenWarm({ ...parts, runners }, runnerId, signal),
    async deathOf(runnerId) {
      const pod = await runners.find(runnerId);
      return pod ? deathOfPod(pod) : { ended: true, reason: POD_GONE };
    },
    addressOf({ id }) {
      const name = nameOf(id);
      return { mcpUrl: `http://${runnerHost(name, namespace)}:${PORTS.runner}/mcp`, workload: name };
    },
    markLeased: (runnerId, lease) => void markLeased(parts, runnerId, lease),
    remove: runners.remove,
    list: async () => pods.all().flatMap(pod => pod.metadata?.labels?.[LABELS.runnerId] ?? []),
  };
}

/** Every request asks; the watch hands out the same object until the template changes. */
function digestOf(template: () => V1PodTemplate): () => string {
  let last: { of: V1PodTemplate; digest: string } | undefined;
  return () => {
    const of = template();
    if (last?.of !== of) last = { of, digest: templateDigest(of) };
    return last.digest;
  };
}
