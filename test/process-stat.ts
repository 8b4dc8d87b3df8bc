import { readFileSync } from 'node:fs';

/** Units of the times in /proc: proc(5). */
const TICKS_A_SECOND = 100;
const PAGE_BYTES = 4_096;

/** A process as the kernel counts it. */
export interface ProcessStat {
  readonly parent: number;
  /** Seconds of a core that it has taken. */
  readonly cpu: number;
  /** The same of its children that have ended. */
  readonly childrenCpu: number;
  /** Bytes of memory that are resident. */
  readonly rss: number;
}

/** Undefined: it has ended. */
export function processStat(pid: number | string): ProcessStat | undefined {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return undefined;
  }
  const fields = text
    .slice(text.lastIndexOf(') ') + 2)
    .split(' ')
    .map(Number); // its name may have spaces
  const ticks = (from: number) => ((fields[from] ?? 0) + (fields[from + 1] ?? 0)) / TICKS_A_SECOND;
  return { parent: fields[1] ?? 0, cpu: ticks(11), childrenCpu: ticks(13), rss: (fields[21] ?? 0) * PAGE_BYTES };
}
