import { createHash } from 'node:crypto';
import type { V1Pod, V1PodTemplate } from '@kubernetes/client-node';
import { LABELS, PORTS } from '../../../contract/names.ts';

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

/** The pod of one runner: the template's, under this name, whose entry is in this slice. Owned by the template until it is leased. */
export function runnerPod(template: V1PodTemplate, runnerId: string, name: string, nameSlice: string): V1Pod {
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
        [LABELS.nameSlice]: nameSlice,
      },
      annotations: { ...metadata?.annotations },
      ownerReferences: [
        { apiVersion: 'v1', kind: 'PodTemplate', name: template.metadata.name, uid: template.metadata.uid },
      ],
    },
    spec,
  };
}

/** Address of a runner; undefined before its pod has an address. */
export function endpointOf({ status }: V1Pod): string | undefined {
  const ip = status?.podIP;
  return ip ? `http://${ip.includes(':') ? `[${ip}]` : ip}:${PORTS.runner}` : undefined;
}
