import { createHash } from 'node:crypto';
import type { V1EndpointSlice, V1Pod, V1PodTemplate, V1Service } from '@kubernetes/client-node';
import { ENDPOINT_MANAGER, LABELS, PORTS } from '../../../contract/names.ts';

/** Endpoints are of the Service's port of the same name. */
const MCP_PORT = 'mcp';

/** Digest of the pod that a template makes; the order of keys does not matter. */
export function templateDigest(template: V1PodTemplate): string {
  const sorted = (value: unknown): unknown =>
    Array.isArray(value)
      ? value.map(sorted)
      : value !== null && typeof value === 'object'
        ? Object.fromEntries(
            Object.entries(value)
              .filter(([, each]) => each !== undefined)
              .sort(([a], [b]) => (a < b ? -1 : 1))
              .map(([key, each]) => [key, sorted(each)]),
          )
        : value;
  return createHash('sha256')
    .update(JSON.stringify(sorted(template.template)))
    .digest('hex')
    .slice(0, 16);
}

/** The pod of one runner: the template's, under this name, owned by the template until it is leased. */
export function runnerPod(template: V1PodTemplate, runnerId: string, name: string): V1Pod {
  const { metadata, spec } = template.template ?? {};
  if (!spec || !template.metadata?.uid || !template.metadata.name)
    throw new Error('the PodTemplate has no pod spec; apply the rendered manifests again');
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      labels: {
        ...metadata?.labels,
        [LABELS.app]: LABELS.runnerApp,
        [LABELS.runnerId]: runnerId,
        [LABELS.state]: 'warm',
      },
      annotations: { ...metadata?.annotations },
      ownerReferences: [
        { apiVersion: 'v1', kind: 'PodTemplate', name: template.metadata.name, uid: template.metadata.uid },
      ],
    },
    spec,
  };
}

/** The Service of one runner: goes with its pod. */
export function runnerService(pod: V1Pod, runnerId: string): V1Service {
  const { name, uid } = pod.metadata ?? {};
  if (!name || !uid) throw new Error('the pod has no name or uid');
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name,
      labels: { [LABELS.app]: LABELS.runnerApp, [LABELS.runnerId]: runnerId },
      ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name, uid }],
    },
    spec: {
      type: 'ClusterIP',
      // The controller decides whether a runner is lost; one missed probe must not take a lease's address away.
      publishNotReadyAddresses: true,
      selector: { [LABELS.app]: LABELS.runnerApp, [LABELS.runnerId]: runnerId },
      ports: [{ name: MCP_PORT, port: PORTS.runner, targetPort: PORTS.runner, protocol: 'TCP' }],
    },
  };
}

/** Adds a controller's pod to what a Service leads to, beside the slices that Kubernetes writes for its selector. */
export function tombstoneEndpoint({ metadata }: V1Service, podAddress: string): V1EndpointSlice {
  const { name, uid } = metadata ?? {};
  if (!name || !uid) throw new Error('the Service has no name or uid');
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name,
      labels: { 'kubernetes.io/service-name': name, 'endpointslice.kubernetes.io/managed-by': ENDPOINT_MANAGER },
      ownerReferences: [{ apiVersion: 'v1', kind: 'Service', name, uid }],
    },
    addressType: podAddress.includes(':') ? 'IPv6' : 'IPv4',
    endpoints: [{ addresses: [podAddress], conditions: { ready: true } }],
    ports: [{ name: MCP_PORT, port: PORTS.controller, protocol: 'TCP' }],
  };
}

/** Address of a runner; undefined before its pod has an address. */
export function endpointOf({ status }: V1Pod): string | undefined {
  const ip = status?.podIP;
  return ip ? `http://${ip.includes(':') ? `[${ip}]` : ip}:${PORTS.runner}` : undefined;
}
