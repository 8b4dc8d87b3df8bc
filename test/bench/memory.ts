import { readFileSync } from 'node:fs';
import { processTree } from '../local/machine.ts';

/** Resident set size of a process, in MB (10^6 bytes). Linux only: proc_pid_status(5). */
export const rssOf = (pid: number): number =>
  Math.round((Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024) / 1e6);

/** Proportional set size of these processes, in MB (10^6 bytes). Linux only: smaps_rollup, proc(5). */
export function pssOf(pids: readonly number[]): number {
  let kib = 0;
  for (const pid of pids) {
    try {
      kib += Number(/^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1] ?? 0);
    } catch {
      // the process has exited
    }
  }
  return Math.round((kib * 1024) / 1e6);
}

/** That of a process and its descendants. */
export const pssMb = (root: number): number => pssOf(processTree(root));
