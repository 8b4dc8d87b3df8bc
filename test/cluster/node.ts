import { execFile } from 'node:child_process';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);

// The node's own view: admission policies keep everyone out of a runner's pod, but root of the node sees its
// processes in /proc. That is a node of the cluster beside the checkout, or of kind and k3d, whose nodes are
// containers of this machine.

const numbers = async (): Promise<number[]> =>
  (await readdir('/proc'))
    .filter(name => /^\d+$/.test(name))
    .map(Number)
    .toSorted((a, b) => a - b);

/** A file of /proc about one process; null when the process has ended. */
export const procFile = (pid: number, name: string): Promise<string | null> =>
  readFile(`/proc/${pid}/${name}`, 'utf8').catch(() => null);

/** A process as root of its node sees it. */
export interface SeenProcess {
  readonly pid: number;
  readonly command: string;
  /** Lines of /proc/PID/status, by their name. */
  readonly status: Readonly<Record<string, string>>;
  readonly userNamespace: string;
}

/** Those of them that have not ended meanwhile. */
export async function lookAt(pids: readonly number[]): Promise<SeenProcess[]> {
  return (await Promise.all(pids.map(look))).filter(seen => seen !== undefined);
}

async function look(pid: number): Promise<SeenProcess | undefined> {
  const userNamespace = await readlink(`/proc/${pid}/ns/user`).catch(() => undefined);
  if (userNamespace === undefined) return undefined;
  const status = ((await procFile(pid, 'status')) ?? '').split('\n').map(line => line.split(/:\s*/));
  return {
    pid,
    command: ((await procFile(pid, 'cmdline')) ?? '').replaceAll('\0', ' '),
    status: Object.fromEntries(status),
    userNamespace,
  };
}

/** Processes of that name, e.g. a part of the cluster. */
export async function pidsOf(name: string): Promise<number[]> {
  const found: number[] = [];
  for (const pid of await numbers()) if ((await procFile(pid, 'comm'))?.trim() === name) found.push(pid);
  return found;
}

/**
 * Ids of the processes of a pod (its UID) or of one container (its id), oldest first. Throws where there are none to
 * see.
 */
export async function processesOf(id: string): Promise<number[]> {
  const spelled = [id, id.replaceAll('-', '_')]; // systemd's cgroups know no dash
  const found: number[] = [];
  for (const pid of await numbers()) {
    const cgroup = await procFile(pid, 'cgroup');
    if (spelled.some(name => cgroup?.includes(name))) found.push(pid);
  }
  if (found.length === 0) throw new Error(`no process of ${id}: run this as root on a machine that is the node`);
  return found;
}

/** The process in whose network namespace a pod is. Not a renderer: those have one of their own. */
export async function networkOf(podUid: string): Promise<number> {
  const ours = await readlink('/proc/self/ns/user');
  for (const pid of await processesOf(podUid)) if ((await readlink(`/proc/${pid}/ns/user`)) === ours) return pid;
  throw new Error(`no process of the pod ${podUid} is in this machine's user namespace`);
}

/** The node's kubelet: its network and its files are the node's. */
export async function kubelet(): Promise<{ pid: number; root: string }> {
  for (const pid of await pidsOf('kubelet')) {
    const args = ((await procFile(pid, 'cmdline')) ?? '').split('\0');
    const at = args.indexOf('--root-dir');
    const folder =
      args.find(arg => arg.startsWith('--root-dir='))?.split('=')[1] ?? (at < 0 ? undefined : args[at + 1]);
    return { pid, root: `/proc/${pid}/root${folder ?? '/var/lib/kubelet'}` };
  }
  throw new Error('no kubelet on this machine: run this as root on a machine that is the node');
}

/** Runs a program in the network of a process and with the files of this machine; answers what it prints. */
export async function inNetworkOf(pid: number, command: string, ...args: string[]): Promise<string> {
  return (await run('nsenter', ['--target', String(pid), '--net', command, ...args])).stdout;
}
