import type { V1Pod } from '@kubernetes/client-node';
import { kubectl } from '../../cluster/kubectl.ts';

/** Pods of a namespace, as the API server has them. */
export async function podsOf(namespace: string, selector: string): Promise<V1Pod[]> {
  const text = await kubectl(['-n', namespace, 'get', 'pods', '-l', selector, '-o', 'json']);
  return (JSON.parse(text) as { items: V1Pod[] }).items.filter(({ metadata }) => !metadata?.deletionTimestamp);
}

export const uidOf = ({ metadata }: V1Pod): string => metadata?.uid ?? '';
export const addressOf = ({ status }: V1Pod): string => status?.podIP ?? '';

/** Id of one of a pod's containers, as the node knows it. */
export function containerOf({ status }: V1Pod, container: string): string {
  const all = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  const id = all.find(({ name }) => name === container)?.containerID?.split('://')[1];
  if (!id) throw new Error(`the pod has no running container ${container}`);
  return id;
}
