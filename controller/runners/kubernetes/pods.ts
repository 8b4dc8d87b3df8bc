import type { CoreV1Api, V1Pod, V1PodTemplate } from '@kubernetes/client-node';
import { LABELS, LEASED } from '../../../contract/names.ts';
import { OmicronError } from '../../../contract/problem.ts';
import { neverAborts } from '../../../time/clock.ts';
import type { ProviderContext } from '../../ports/runners.ts';
import { apiFault, type BoundedApiCall, refusalOf } from './api.ts';
import { isKept, unmarkLeased } from './mark.ts';
import { runnerPod, runnerService } from './objects.ts';
import type { ServiceTombstones } from './tombstones.ts';
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
  /** Name of a runner's pod and Service. */
  nameOf: (runnerId: string) => string;
  /** The PodTemplate as it is now. Throws when there is none. */
  template: () => V1PodTemplate;
  /** Null: a lease's address goes with its pod. */
  ended: ServiceTombstones | null;
}

/** The pods of runners, and their Services. */
export interface RunnerPods {
  /** As the watch has it. */
  seen(runnerId: string): V1Pod | undefined;
  /** As the watch has it, else as the API server does. Null: there is none. */
  find(runnerId: string): Promise<V1Pod | null>;
  create(runnerId: string): Promise<void>;
  remove(runnerId: string): Promise<'deleting' | 'gone'>;
}

export function runnerPods(parts: PodParts): RunnerPods {
  const { core, call, namespace, pods, nameOf } = parts;
  const seen = (runnerId: string) => pods.get(nameOf(runnerId), namespace);

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

    async create(runnerId) {
      if (!seen(runnerId)) await createPod(parts, runnerId);
      // The process that created the pod may have ended before it created the Service.
      const pod = await find(runnerId);
      if (pod?.metadata?.labels?.[LABELS.runnerId] !== runnerId)
        throw new OmicronError(
          'runner_start_failed',
          `The pod ${nameOf(runnerId)} does not exist after it was created.`,
        );
      const body = runnerService(pod, runnerId);
      await createOnce(parts, () => core.createNamespacedService({ namespace, body })).catch(throwStartFault);
    },

    async remove(runnerId) {
      const pod = await find(runnerId);
      if (pod) {
        if (pod.metadata?.labels?.[LABELS.state] === LEASED) await parts.ended?.keep(runnerId);
        if (!pod.metadata?.deletionTimestamp && pod.metadata?.uid) await deletePod(parts, runnerId, pod.metadata.uid);
        const left = await find(runnerId); // what the watch does not have is read
        if (left !== null && isKept(left)) await unmarkLeased(parts, runnerId);
        if (left !== null) return 'deleting';
      }
      parts.ended?.forget(runnerId);
      return 'gone';
    },
  };
}

/**
 * The pod of the template as it is now. Policies that do not know that template yet, or any more, are asked again.
 */
async function createPod(parts: PodParts, runnerId: string): Promise<void> {
  const { core, namespace, template, nameOf, clock, log } = parts;
  for (let attempt = 1; ; attempt++) {
    const body = runnerPod(template(), runnerId, nameOf(runnerId));
    try {
      return await createOnce(parts, () => core.createNamespacedPod({ namespace, body }));
    } catch (error) {
      const refusal = refusalOf(error);
      if (!POD_POLICY.test(refusal?.policy ?? '') || attempt === RELEASE.tries) return throwStartFault(error);
      log.info({ runner_id: runnerId, ...refusal }, 'admission policy and template differ; retrying');
      await clock.sleep(RELEASE.pauseMs, neverAborts());
    }
  }
}

/** Creates what may exist already; either way it exists afterwards. */
async function createOnce({ call }: PodParts, create: () => Promise<unknown>): Promise<void> {
  try {
    await call(create);
  } catch (error) {
    if (apiFault(error).fault !== 'conflict') throw error;
  }
}

function throwStartFault(error: unknown): never {
  const refusal = refusalOf(error);
  if (!refusal) throw error;
  throw new OmicronError('runner_start_failed', `The API server refused the pod: ${refusal.message}.`, {
    cause: error,
  });
}

async function deletePod({ core, call, namespace, nameOf }: PodParts, runnerId: string, uid: string): Promise<void> {
  const body = { preconditions: { uid } };
  try {
    await call(() => core.deleteNamespacedPod({ name: nameOf(runnerId), namespace, body }));
  } catch (error) {
    const { fault } = apiFault(error);
    if (fault !== 'not_found' && fault !== 'conflict') throw error; // conflict: another pod has the name now
  }
}
