import { GIBIBYTE, MEBIBYTE } from './quantity.ts';
import type { PodRequests } from './runner-shapes.ts';

// The reserves of a kubelet on EKS, and its thresholds of eviction:
// https://github.com/awslabs/amazon-eks-ami/blob/main/nodeadm/internal/kubelet/config.go

/** Memory that the kubelet keeps from pods, by how many of them a node may run. */
export const kubeletReservedMiB = (podsMax: number): number => 255 + 11 * podsMax;

/** Thousandths of a core that it keeps: 6 % of the first, 1 % of the second, 0.5 % of two more, 0.25 % of the others. */
export function kubeletReservedMillicores(cores: number): number {
  const part = (from: number, to: number, milli: number) => Math.max(0, Math.min(cores, to) - from) * milli;
  return part(0, 1, 60) + part(1, 2, 10) + part(2, 4, 5) + part(4, Number.POSITIVE_INFINITY, 2.5);
}

/** Disk that it keeps. */
export const KUBELET_RESERVED_DISK_GIB = 1;

const EVICTION = { memoryMiB: 100, diskShare: 0.1 };

/** Pods of each node besides runners: aws-node with its two containers, and kube-proxy. They request no memory and no disk. */
const DAEMONS = { pods: 2, cores: 0.15 };

/**
 * Memory that a node reports, by what its instance type has: the firmware and the kernel take the rest. The lowest values of m5 and r5 from
 * https://github.com/2i2c-org/infrastructure/blob/main/deployer/commands/generate/resource_allocation/instance_capacities.yaml
 */
const REPORTED_GIB = { 8: 7.461, 16: 15.172, 32: 30.886, 64: 62.011, 128: 124.353 } as const;
export type InstanceMemoryGiB = keyof typeof REPORTED_GIB;

export interface NodeSize {
  readonly cores: number;
  /** Memory of the instance type. */
  readonly memoryGiB: InstanceMemoryGiB;
  /** Its root volume. */
  readonly diskGiB: number;
  /** Pods for which the kubelet keeps memory free, and that it runs at most. */
  readonly podsMax: number;
}

/** How many pods of a runner's size the scheduler puts on a node, and the resource that is used up first. */
export function fitRunners(
  { cores, memoryGiB, diskGiB, podsMax }: NodeSize,
  requests: PodRequests,
): { readonly runners: number; readonly limitedBy: 'cpu' | 'memory' | 'disk' | 'pods' } {
  const memoryBytes =
    REPORTED_GIB[memoryGiB] * GIBIBYTE - (kubeletReservedMiB(podsMax) + EVICTION.memoryMiB) * MEBIBYTE;
  const diskBytes = (diskGiB * (1 - EVICTION.diskShare) - KUBELET_RESERVED_DISK_GIB) * GIBIBYTE;
  const fit = {
    cpu: (cores - kubeletReservedMillicores(cores) / 1_000 - DAEMONS.cores) / requests.cores,
    memory: memoryBytes / requests.memoryBytes,
    disk: diskBytes / requests.diskBytes,
    pods: podsMax - DAEMONS.pods,
  };
  const runners = Math.floor(Math.min(...Object.values(fit)));
  const limitedBy = (Object.keys(fit) as (keyof typeof fit)[]).find(each => Math.floor(fit[each]) === runners);
  return { runners, limitedBy: limitedBy ?? 'cpu' };
}
