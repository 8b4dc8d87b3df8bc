import type { V1Endpoint, V1EndpointSlice } from '@kubernetes/client-node';
import { RUNNERS_SERVICE } from '../contract/names.ts';
import { kubectl } from './kubectl.ts';

/** The names of runners in a namespace: the entries of their headless Service. Those of ended leases are of no pod (`targetRef`). */
export async function namesOfRunners(namespace: string): Promise<V1Endpoint[]> {
  const service = `kubernetes.io/service-name=${RUNNERS_SERVICE}`;
  const text = await kubectl(['-n', namespace, 'get', 'endpointslices', '-l', service, '-o', 'json']);
  return (JSON.parse(text) as { items: V1EndpointSlice[] }).items.flatMap(({ endpoints }) => endpoints ?? []);
}
