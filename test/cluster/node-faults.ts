import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { localTool } from '../../cluster/kubectl.ts';
import { kubelet, pidsOf, processesOf, procFile } from './node.ts';

// Faults of a node and of the processes of its pods, caused by root of that node: the machine of the cluster
// beside the checkout. On another cluster these faults are out of reach.
export const onNode: boolean = localTool() !== undefined;

/** Stops a part of the cluster while `work` runs: it lives, but neither answers nor closes a connection. */
export async function whileStopped<T>(part: 'kubelet' | 'kube-apiserver', work: () => Promise<T>): Promise<T> {
  const [pid] = await pidsOf(part);
  if (pid === undefined) throw new Error(`no ${part} on this machine`);
  process.kill(pid, 'SIGSTOP');
  try {
    return await work();
  } finally {
    process.kill(pid, 'SIGCONT');
  }
}

/** Processes of a pod whose command line matches. */
export async function processesLike(podUid: string, args: RegExp): Promise<number[]> {
  const found: number[] = [];
  for (const pid of await processesOf(podUid))
    if (args.test(((await procFile(pid, 'cmdline')) ?? '').replaceAll('\0', ' '))) found.push(pid);
  return found;
}

/** Kills at once, as the kernel does. */
export function kill9(pids: readonly number[]): void {
  for (const pid of pids)
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // gone with one that was killed before it
    }
}

/** Limits the memory of a process’s container to its present use plus `bytesMore`. */
export async function squeezeMemory(pid: number, bytesMore: number): Promise<void> {
  const groups = ((await procFile(pid, 'cgroup')) ?? '').split('\n').map(line => line.split(':'));
  const v1 = groups.find(([, controllers]) => controllers === 'memory')?.[2];
  const folder = v1 === undefined ? join('/sys/fs/cgroup', groups[0]?.[2] ?? '') : join('/sys/fs/cgroup/memory', v1);
  const usage = await readFile(join(folder, v1 === undefined ? 'memory.current' : 'memory.usage_in_bytes'), 'utf8');
  const limit = join(folder, v1 === undefined ? 'memory.max' : 'memory.limit_in_bytes');
  await writeFile(limit, String(Number(usage) + bytesMore));
}

/** A file in a volume of a pod, written behind the pod's back. */
export async function writeIntoVolume(podUid: string, volume: string, bytes: number): Promise<void> {
  const { root } = await kubelet();
  const folder = join(root, 'pods', podUid, 'volumes/kubernetes.io~empty-dir', volume);
  await writeFile(join(folder, 'too-much'), Buffer.alloc(bytes, 1));
}
