import type { CoreV1Api, V1OwnerReference, V1Pod } from '@kubernetes/client-node';
import { KEEP_POD, LABELS, LEASED, SERVICE_ACCOUNTS } from '../../../contract/names.ts';
import { type Backoff, backoffMs } from '../../../time/backoff.ts';
import { neverAborts } from '../../../time/clock.ts';
import type { ProviderContext, RunnerProvider } from '../../ports/runners.ts';
import { apiFault, type BoundedApiCall, MERGE_PATCH } from './api.ts';

const BACKOFF: Backoff = { firstMs: 1_000, maxMs: 30_000, jitter: 0.2 };

export interface MarkParts extends Pick<ProviderContext, 'clock' | 'log'> {
  core: CoreV1Api;
  call: BoundedApiCall;
  namespace: string;
  nameOf: (runnerId: string) => string;
}

type Lease = Parameters<RunnerProvider['markLeased']>[1];

/** Marks a pod as a lease's, however long the API server is unreachable: the lease may last for hours. */
export async function markLeased(parts: MarkParts, runnerId: string, lease: Lease): Promise<void> {
  const { clock, log } = parts;
  for (let attempt = 0; ; attempt++) {
    try {
      return await patch(parts, runnerId, lease);
    } catch (err) {
      const { fault } = apiFault(err);
      if (fault === 'not_found') return; // it has ended
      log.warn({ err, runner_id: runnerId }, 'leased pod not marked');
      if (fault !== 'busy' && fault !== 'unknown') return;
      await clock.sleep(backoffMs(attempt, BACKOFF, clock.random), neverAborts(), true);
    }
  }
}

/**
 * Takes the pod from the template as well: deleting or replacing that must not take leased runners with it. It keeps
 * an owner (the VPC CNI's policy agent skips pods without one): the runners' service account.
 */
async function patch(parts: MarkParts, runnerId: string, lease: Lease): Promise<void> {
  const { core, call, namespace, nameOf } = parts;
  const metadata = {
    labels: {
      [LABELS.state]: LEASED,
      [LABELS.sessionId]: lease.sessionId,
      [LABELS.epoch]: String(lease.epoch),
      [LABELS.userIdHash]: lease.userIdHash,
    },
    annotations: { ...KEEP_POD },
    ownerReferences: [await runnersAccount(parts)],
  };
  await call(() => core.patchNamespacedPod({ name: nameOf(runnerId), namespace, body: { metadata } }, MERGE_PATCH));
}

/**
 * Gives the pod of a lease that has ended back to Karpenter and the autoscaler: until its video is sent it may be there for minutes, and its
 * node could not be drained. False: that failed, and is in the log; the pod ends anyway.
 */
export async function unmarkLeased(parts: MarkParts, runnerId: string): Promise<boolean> {
  const { core, call, namespace, nameOf, log } = parts;
  const body = { metadata: { annotations: Object.fromEntries(KEEPING.map(name => [name, null])) } };
  try {
    await call(() => core.patchNamespacedPod({ name: nameOf(runnerId), namespace, body }, MERGE_PATCH));
    return true;
  } catch (err) {
    if (apiFault(err).fault === 'not_found') return true;
    log.warn({ err, runner_id: runnerId }, 'pod of an ended lease still marked');
    return false;
  }
}

/** Whether the pod is kept where it is. */
export const isKept = ({ metadata }: V1Pod): boolean =>
  KEEPING.some(name => metadata?.annotations?.[name] !== undefined);

const KEEPING = Object.keys(KEEP_POD);

/** An owner that outlives pods and templates. */
async function runnersAccount(parts: Pick<MarkParts, 'core' | 'call' | 'namespace'>): Promise<V1OwnerReference> {
  const { core, call, namespace } = parts;
  const name = SERVICE_ACCOUNTS.runner;
  const account = await call(() => core.readNamespacedServiceAccount({ name, namespace }));
  return { apiVersion: 'v1', kind: 'ServiceAccount', name, uid: account.metadata?.uid ?? '' };
}
