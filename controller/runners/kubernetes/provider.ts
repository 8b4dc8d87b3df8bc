import { setTimeout as sleep } from 'node:timers/promises';
import {
  CoreV1Api,
  type KubeConfig,
  PatchStrategy,
  setHeaderOptions,
  type V1Pod,
  type V1PodTemplate,
} from '@kubernetes/client-node';
import type { Logger } from 'pino';
import { LABELS, PORTS, runnerName, SERVICE_ACCOUNTS } from '../../../contract/names.ts';
import { OmicronError } from '../../../contract/problem.ts';
import type { RunnerProvider } from '../../ports/runners.ts';
import { healthOf } from '../http-link.ts';
import { apiCall, apiFault } from './api.ts';
import { runnerPod, runnerService, templateDigest } from './objects.ts';
import { deathOfPod, pendingReason } from './verdict.ts';
import { Watched } from './watched.ts';

export interface KubernetesRunners {
  config: KubeConfig;
  namespace: string;
  /** Name of the PodTemplate that Argo CD syncs. */
  templateName: string;
  /** Called when a runner's pod changed. */
  onChange: () => void;
  log: Logger;
}

const GONE = 'The pod is gone. Ask again for a new browser.';
const HEALTH_TIMEOUT_MS = 2_000;
/** A drained runner's process ends within a second; a browser that hangs is not waited for longer. */
const ENDING_MS = 3_000;
/** An image that cannot be pulled may be pulled a moment later; then it is hopeless. */
const HOPELESS_AFTER_MS = 10_000;
/**
 * A release changes the template and the admission policies that name its image (docs/rollout.md); the API server enforces a
 * new policy within seconds. Less than another replica waits before it takes a launch over.
 */
const RELEASE = { tries: 10, pauseMs: 1_500 };
const MARK_PAUSE_MAX_MS = 30_000;
const MERGE_PATCH = setHeaderOptions('Content-Type', PatchStrategy.MergePatch);

/** Runners as pods, instantiated from the synced PodTemplate. Call `start` before anything else. */
export function kubernetesRunners(
  options: KubernetesRunners,
): RunnerProvider & { start(): Promise<void>; stop(): void } {
  const { config, namespace, templateName, log } = options;
  const core = config.makeApiClient(CoreV1Api);
  const labelSelector = `${LABELS.app}=${LABELS.runnerApp}`;
  const pods = new Watched<V1Pod>({
    config,
    path: `/api/v1/namespaces/${namespace}/pods`,
    list: () => apiCall(() => core.listNamespacedPod({ namespace, labelSelector })),
    labelSelector,
    log,
  });
  const templates = new Watched<V1PodTemplate>({
    config,
    path: `/api/v1/namespaces/${namespace}/podtemplates`,
    list: () => apiCall(() => core.listNamespacedPodTemplate({ namespace })),
    log,
  });

  const podOf = (runnerId: string) => pods.get(runnerName(runnerId), namespace);
  const templateNow = (): V1PodTemplate => {
    const template = templates.get(templateName, namespace);
    if (template) return template;
    throw new OmicronError(
      'runner_start_failed',
      `There is no PodTemplate ${templateName} in namespace ${namespace}; sync the manifests.`,
    );
  };
  let digested: { template: V1PodTemplate; digest: string } | undefined;
  /** The pod as the API server has it. Null: there is none. */
  const read = async (runnerId: string): Promise<V1Pod | null> => {
    try {
      return await apiCall(() => core.readNamespacedPod({ name: runnerName(runnerId), namespace }));
    } catch (error) {
      if (apiFault(error).fault === 'not_found') return null;
      throw error;
    }
  };
  /** Creates what may be there already; whichever it is, it is there afterwards. */
  const createOnce = async (create: () => Promise<unknown>): Promise<void> => {
    try {
      await apiCall(create);
    } catch (error) {
      if (apiFault(error).fault !== 'conflict') throw startFault(error);
    }
  };
  /** The pod of the template as it is now. Policies that do not know that template yet, or any more, are asked again. */
  const createPod = async (runnerId: string): Promise<void> => {
    for (let attempt = 1; ; attempt++) {
      try {
        const body = runnerPod(templateNow(), runnerId);
        return await createOnce(() => core.createNamespacedPod({ namespace, body }));
      } catch (error) {
        if (!refusedByPolicy(error) || attempt === RELEASE.tries) throw error;
        log.info({ runner_id: runnerId, detail: error.message }, 'policy and template differ; tried again');
        await sleep(RELEASE.pauseMs);
      }
    }
  };

  return {
    name: 'kubernetes',

    async start() {
      await Promise.all([pods.start(), templates.start()]);
      void (async () => {
        for (;;) {
          await pods.change;
          options.onChange();
        }
      })();
    },
    stop() {
      pods.stop();
      templates.stop();
    },

    // Every request asks; the watch hands out the same object until the template changes.
    async templateDigest() {
      const template = templateNow();
      if (digested?.template !== template) digested = { template, digest: templateDigest(template) };
      return digested.digest;
    },

    async create(runnerId) {
      if (!podOf(runnerId)) await createPod(runnerId);
      // Whoever made the pod may have ended before it made the Service.
      const pod = podOf(runnerId) ?? (await read(runnerId));
      if (pod?.metadata?.labels?.[LABELS.runnerId] !== runnerId)
        throw new OmicronError(
          'runner_start_failed',
          `The pod ${runnerName(runnerId)} is not there after it was created.`,
        );
      await createOnce(() => core.createNamespacedService({ namespace, body: runnerService(pod, runnerId) }));
    },

    async whenWarm(runnerId, signal) {
      const beganMs = performance.now();
      let reason = 'The pod was not seen.';
      const aborted = new Promise<void>(resolve => signal.addEventListener('abort', () => resolve(), { once: true }));
      for (;;) {
        const change = pods.change;
        const pod = podOf(runnerId);
        if (pod) {
          const death = deathOfPod(pod);
          if (death) throw new OmicronError('runner_start_failed', death.reason);
          // Asked before it is ready too: a browser that cannot start says so, and never becomes ready.
          const endpoint = endpointOf(pod);
          if (endpoint !== undefined) {
            const health = await healthOf(endpoint, AbortSignal.any([signal, AbortSignal.timeout(HEALTH_TIMEOUT_MS)]));
            if (health?.phase === 'failed')
              throw new OmicronError(
                health.error?.code === 'sandbox_runtime_required' ? 'sandbox_runtime_required' : 'runner_start_failed',
                health.error?.detail ?? 'The browser did not start.',
              );
            const ready = pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True');
            if (ready && health?.phase === 'warm') return { bootId: health.boot_id, endpoint };
          }
          const pending = pendingReason(pod);
          reason = pending.reason;
          if (pending.hopeless && performance.now() - beganMs > HOPELESS_AFTER_MS)
            throw new OmicronError('runner_start_failed', reason);
        } else if (!signal.aborted && (await read(runnerId)) === null) {
          throw new OmicronError('runner_start_failed', GONE);
        }
        if (signal.aborted) throw new OmicronError('runner_start_failed', reason, { cause: signal.reason });
        // a changed pod, or a look every second for what the watch does not show
        await Promise.race([change, aborted, new Promise(resolve => setTimeout(resolve, 1_000))]);
      }
    },

    async deathOf(runnerId) {
      const pod = podOf(runnerId);
      if (pod) return deathOfPod(pod);
      // not in the watch: only the API server can say that it is not there
      const now = await read(runnerId);
      if (now) return deathOfPod(now);
      return { ended: true, reason: GONE };
    },

    publish({ id, endpoint: _endpoint }, lease) {
      const name = runnerName(id);
      void markLeased(id, lease);
      return { mcpUrl: `http://${name}.${namespace}.svc.cluster.local:${PORTS.runner}/mcp`, workload: name };
    },

    async remove(runnerId) {
      const pod = podOf(runnerId) ?? (await read(runnerId));
      if (!pod) return 'gone';
      if (!pod.metadata?.deletionTimestamp && pod.metadata?.uid) {
        const { uid } = pod.metadata;
        await endedByItself(runnerId, pod);
        try {
          await apiCall(() =>
            core.deleteNamespacedPod({ name: runnerName(runnerId), namespace, body: { preconditions: { uid } } }),
          );
        } catch (error) {
          const { fault } = apiFault(error);
          if (fault !== 'not_found' && fault !== 'conflict') throw error; // conflict: another pod has the name now
        }
      }
      return podOf(runnerId) || (await read(runnerId)) ? 'deleting' : 'gone'; // what the watch does not show is looked up
    },

    list: async () => pods.all().flatMap(pod => pod.metadata?.labels?.[LABELS.runnerId] ?? []),
  };

  /**
   * Gives a runner that drains, or answers no more, a moment to end: a container that is told to stop while it ends can stay
   * for its whole grace (containerd 1.6: "ttrpc: closed"), and its pod with it.
   */
  async function endedByItself(runnerId: string, pod: V1Pod): Promise<void> {
    const endpoint = endpointOf(pod);
    const signal = AbortSignal.timeout(ENDING_MS);
    if (endpoint === undefined || deathOfPod(pod)) return;
    const health = await healthOf(endpoint, signal);
    if (health !== null && health.phase !== 'draining') return;
    const late = new Promise(resolve => signal.addEventListener('abort', resolve, { once: true }));
    for (let now = podOf(runnerId); now && !deathOfPod(now) && !signal.aborted; now = podOf(runnerId))
      await Promise.race([pods.change, late]);
  }

  /** Marks it in the end: an API server that is away for long comes back, and the lease may last for hours. */
  async function markLeased(runnerId: string, lease: Parameters<typeof leased>[1]): Promise<void> {
    for (let pauseMs = 1_000; ; pauseMs = Math.min(pauseMs * 2, MARK_PAUSE_MAX_MS)) {
      try {
        return await leased(runnerId, lease);
      } catch (err) {
        const { fault } = apiFault(err);
        if (fault === 'not_found') return; // it has ended
        log.warn({ err, runner_id: runnerId }, 'a leased pod could not be marked');
        if (fault !== 'busy' && fault !== 'unknown') return;
        await sleep(pauseMs, undefined, { ref: false });
      }
    }
  }

  /**
   * Marks a pod as a lease's, and takes it from the template: whoever deletes or replaces that must not take leased runners
   * with it. It keeps an owner (the VPC CNI's policy agent skips pods without one): the runners' service account.
   */
  async function leased(
    runnerId: string,
    lease: { sessionId: string; epoch: number; userIdHash: string },
  ): Promise<void> {
    const account = await apiCall(() =>
      core.readNamespacedServiceAccount({ name: SERVICE_ACCOUNTS.runner, namespace }),
    );
    await apiCall(() =>
      core.patchNamespacedPod(
        {
          name: runnerName(runnerId),
          namespace,
          body: {
            metadata: {
              labels: {
                [LABELS.state]: 'leased',
                [LABELS.sessionId]: lease.sessionId,
                [LABELS.epoch]: String(lease.epoch),
                [LABELS.userIdHash]: lease.userIdHash,
              },
              ownerReferences: [
                { apiVersion: 'v1', kind: 'ServiceAccount', name: SERVICE_ACCOUNTS.runner, uid: account.metadata?.uid },
              ],
            },
          },
        },
        MERGE_PATCH,
      ),
    );
  }
}

/** The API server's refusal in its own words: a quota, an admission policy. */
function startFault(error: unknown): unknown {
  const { fault } = apiFault(error);
  const body = error instanceof Error && 'body' in error ? error.body : undefined;
  const text = typeof body === 'string' ? body : JSON.stringify(body ?? '');
  const message = /"message":\s*"((?:[^"\\]|\\.)*)"/.exec(text)?.[1];
  if (fault !== 'refused' && fault !== 'conflict') return error;
  return new OmicronError('runner_start_failed', `The API server refused the pod: ${message ?? 'no reason given'}.`, {
    cause: error,
  });
}

/** The policies are synced with the template: a moment later they agree with it. */
const refusedByPolicy = (error: unknown): error is OmicronError =>
  error instanceof OmicronError && error.message.includes("ValidatingAdmissionPolicy 'runner-pod-");

/** Where a runner answers; undefined before its pod has an address. */
function endpointOf({ status }: V1Pod): string | undefined {
  const ip = status?.podIP;
  return ip ? `http://${ip.includes(':') ? `[${ip}]` : ip}:${PORTS.runner}` : undefined;
}
