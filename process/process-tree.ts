import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { promisify } from 'node:util';

/** One process of a tree. */
export interface TreeProcess {
  readonly pid: number;
  /** A renderer of Chromium. */
  readonly isRenderer: boolean;
  /** Memory of its own, and what it shares with other processes; no program text. */
  readonly bytes: number;
  /** Processor time since its start. */
  readonly cpuMs: number;
}

/** The process with this id and all that descend from it; none when it is gone. */
export type ReadProcessTree = (pid: number) => Promise<TreeProcess[]>;

const RENDERER = '--type=renderer';
/** Processes of Chromium that start none; they have most of its threads, each of which would be asked for its children. */
const CHILDLESS = /--type=(?:renderer|gpu-process|utility)\b/;
/** Linux counts in these: sysconf(_SC_CLK_TCK) is 100 on every architecture that Node runs on. */
const TICK_MS = 10;
const KIB = 1024;

/** From /proc where the kernel lists children there, else from ps. */
export const readProcessTree: ReadProcessTree = async pid => processTreeOfProc(pid) ?? fromPs(pid);

/** From /proc; undefined where the kernel does not list children there. */
export function processTreeOfProc(pid: number): TreeProcess[] | undefined {
  if (!existsSync(`/proc/${process.pid}/task/${process.pid}/children`)) return undefined;
  const found: TreeProcess[] = [];
  const waiting = [pid];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    try {
      const command = readFileSync(`/proc/${next}/cmdline`, 'utf8');
      found.push(processOf(next, command));
      if (!CHILDLESS.test(command)) waiting.push(...childrenOf(next));
    } catch {
      // it ended meanwhile
    }
  }
  return found;
}

function processOf(pid: number, command: string): TreeProcess {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const kib = (field: string) => Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0);
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // Fields 14 and 15 of proc_pid_stat(5); the first after the command is the third.
  const [user, system] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13);
  return {
    pid,
    isRenderer: command.includes(RENDERER),
    bytes: (kib('RssAnon') + kib('RssShmem') + kib('VmSwap')) * KIB,
    cpuMs: (Number(user) + Number(system)) * TICK_MS,
  };
}

const childrenOf = (pid: number): number[] =>
  readdirSync(`/proc/${pid}/task`).flatMap(task => {
    const text = readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').trim();
    return text === '' ? [] : text.split(' ').map(Number);
  });

async function fromPs(pid: number): Promise<TreeProcess[]> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid=,rss=,time=,command='], {
    maxBuffer: 16 * KIB * KIB,
  });
  const all = stdout.split('\n').map(line => {
    const [, id, parent, rss, time = '', command = ''] = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(.*)$/.exec(line) ?? [];
    return { pid: Number(id), parent: Number(parent), rss: Number(rss), time, command };
  });
  const found = all.filter(each => each.pid === pid);
  for (const { pid: above } of found) found.push(...all.filter(({ parent }) => parent === above));
  return found.map(each => ({
    pid: each.pid,
    isRenderer: each.command.includes(RENDERER),
    bytes: each.rss * KIB,
    cpuMs: each.time.split(/[:-]/).reduce((sum, part) => sum * 60 + Number(part), 0) * 1_000,
  }));
}
