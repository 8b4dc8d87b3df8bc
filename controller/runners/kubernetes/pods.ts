import type { CoreV1Api, V1Pod, V1PodTemplate } from '@kubernetes/client-node';
import { LABELS } from '../../../contract/names.ts';
import { OmicronError } from '../../../contract/problem.ts';
import type { ProviderContext } from '../../ports/runners.ts';
import { apiFault, type BoundedApiCall, refusalOf } from './api.ts';
import { isKept, unmarkLeased } from './mark.ts';
import type { RunnerNames } from './names.ts';
import { runnerPod } from './objects.ts';
import type { Watched } from './watched.ts';

/**
 * A release changes the template and the admission policies that name its image (docs/rollout.md); the API server
 * enforces a new policy within seconds. Less than another replica waits before it takes a launch over.
 */
const RELEASE = { tries: 10, pauseMs: 1_500 };
/** Admission policies of runners' pods: synced with the template, and a moment later they agree with it. */
const POD_POLICY = /^runner-pod-/;

export interface PodParts extends Pick<ProviderContext, 'clock' | 'log'> {
  core: CoreV1Api;
  call: BoundedApiCall;
  namespace: string;
  pods: Watched<V1Pod>;
  /** Name of a runner's pod. */
  nameOf: (runnerId: string) => string;
  /** The PodTemplate as it is now. Throws when there is none. */
  template: () => V1PodTemplate;
  names: RunnerNames;
}

/** The pods of runners. */
export interface RunnerPods {
  /** As the watch has it. */
  seen(runnerId: string): V1Pod | undefined;
  /** As the watch has it, else as the API server does. Null: there is none. */
  find(runnerId: string): Promise<V1Pod | null>;
  create(runnerId: string, signal: AbortSignal): Promise<void>;
  remove(runnerId: string): Promise<'deleting' | 'gone'>;
}

export function runnerPods(parts: PodParts): RunnerPods {
  const { core, call, namespace, pods, names, nameOf } = parts;
  const seen = (runnerId: string) => pods.get(nameOf(runnerId), namespace);
  /** The UID of each runner's pod that the API server deletes; the watch may not show that yet. */
  const deleted = new Map<string, string>();
  /** Pods given back to the autoscaler, which the watch may not have seen yet. */
  const givenBack = new Set<string>();

  const find = async (runnerId: string): Promise<V1Pod | null> => {
    const pod = seen(runnerId);
    if (pod) return pod;
    try {
      return await call(() => core.readNamespacedPod({ name: nameOf(runnerId), namespace }));
    } catch (error) {
      if (apiFault(error).fault === 'not_found') return null;
      throw error;
    }
  };

  return {
    seen,
    find,

    async create(runnerId, signal) {
      const pod = seen(runnerId) ?? (await createPod(parts, runnerId, signal)) ?? (await find(runnerId));
      if (pod?.metadata?.labels?.[LABELS.runnerId] !== runnerId)
        throw new OmicronError(
          'runner_start_failed',
          `The pod ${nameOf(runnerId)} does not exist after it was created.`,
        );
    },

    async remove(runnerId) {
      const pod = await find(runnerId);
      await names.end(runnerId, pod);
      if (pod) {
        const { uid, deletionTimestamp } = pod.metadata ?? {};
        const isAsked = deletionTimestamp !== undefined || uid === undefined || deleted.get(runnerId) === uid;
        if (!isAsked && (await deletePod(parts, runnerId, uid))) deleted.set(runnerId, uid);
        const left = await find(runnerId); // what the watch does not have is read
        const isToGiveBack = left?.metadata?.deletionTimestamp && isKept(left) && !givenBack.has(runnerId);
        if (isToGiveBack && (await unmarkLeased(parts, runnerId))) givenBack.add(runnerId);
        if (left !== null) return 'deleting';
      }
      deleted.delete(runnerId);
      givenBack.delete(runnerId);
      names.forget(runnerId);
      return 'gone';
    },
  };
}

/**
 * The pod of the template as it is now. Policies that do not know that template yet, or any more, are asked again. Null: one of its name exists.
 */
async function createPod(parts: PodParts, runnerId: string, signal: AbortSignal): Promise<V1Pod | null> {
  const { core, call, namespace, template, names, nameOf, clock, log } = parts;
  const slice = names.place();
  for (let attempt = 1; ; attempt++) {
    const body = runnerPod(template(), runnerId, nameOf(runnerId), slice);
    try {
      return await call(() => core.createNamespacedPod({ namespace, body }), signal);
    } catch (error) {
      if (apiFault(error).fault === 'conflict') return null;
      const refusal = refusalOf(error);
      if (!POD_POLICY.test(refusal?.policy ?? '') || attempt === RELEASE.tries) return throwStartFault(error);
      log.info({ runner_id: runnerId, ...refusal }, 'admission policy and template differ; retrying');
      await clock.sleep(RELEASE.pauseMs, signal);
    }
  }
}

export function throwStartFault(error: unknown): never {
  const refusal = refusalOf(error);
  if (!refusal) throw error;
  throw new OmicronError('runner_start_failed', `The API server refused the pod: ${refusal.message}.`, {
    cause: error,
  });
}

/** False: there is none with this UID. */
async function deletePod({ core, call, namespace, nameOf }: PodParts, runnerId: string, uid: string): Promise<boolean> {
  const body = { preconditions: { uid } };
  try {
    await call(() => core.deleteNamespacedPod({ name: nameOf(runnerId), namespace, body }));
    return true;
  } catch (error) {
    const { fault } = apiFault(error);
    if (fault !== 'not_found' && fault !== 'conflict') throw error; // conflict: another pod has the name now
    return false;
  }
}
