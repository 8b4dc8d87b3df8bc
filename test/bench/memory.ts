import { readFileSync } from 'node:fs';
import { processTree } from '../client/machine.ts';

/** Proportional set size of a process and everything it started, in MB (10^6 bytes). Linux only: smaps_rollup, proc(5). */
export function pssMb(root: number): number {
  let kib = 0;
  for (const pid of processTree(root)) {
    try {
      kib += Number(/^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1] ?? 0);
    } catch {
      // it has ended meanwhile
    }
  }
  return Math.round((kib * 1024) / 1e6);
}
