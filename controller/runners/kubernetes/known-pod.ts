import type { V1ContainerStatus, V1Pod } from '@kubernetes/client-node';
import { KEEP_POD } from '../../../contract/names.ts';

/**
 * The part of a runner's pod that the controller reads; the rest is let go. A pod of production is 15 KB of JSON and 34
 * KB of heap, half of it
 * managedFields: thousands of them would not fit into a controller's memory.
 */
export function knownPod({ metadata, status }: V1Pod): V1Pod {
  return {
    metadata: present({
      name: metadata?.name,
      namespace: metadata?.namespace,
      uid: metadata?.uid,
      resourceVersion: metadata?.resourceVersion,
      labels: metadata?.labels,
      annotations: keeping(metadata?.annotations),
      deletionTimestamp: metadata?.deletionTimestamp,
    }),
    status: present({
      phase: status?.phase,
      reason: status?.reason,
      message: status?.message,
      podIP: status?.podIP,
      conditions: status?.conditions?.map(({ type, status, reason, message }) =>
        present({ type, status, reason, message }),
      ),
      initContainerStatuses: status?.initContainerStatuses?.map(knownContainer),
      containerStatuses: status?.containerStatuses?.map(knownContainer),
    }),
  };
}

/** Those that keep a leased pod where it is. */
function keeping(annotations: Readonly<Record<string, string>> = {}): Record<string, string> | undefined {
  const kept = Object.entries(annotations).filter(([name]) => Object.hasOwn(KEEP_POD, name));
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}

const knownContainer = ({ name, image, imageID, ready, restartCount, state }: V1ContainerStatus): V1ContainerStatus =>
  present({ name, image, imageID, ready, restartCount, state });

/** Without members that are undefined: they take memory too. */
function present<T extends object>(members: T): { [Key in keyof T]: Exclude<T[Key], undefined> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as {
    [Key in keyof T]: Exclude<T[Key], undefined>;
  };
}
