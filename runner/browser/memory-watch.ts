import type { TreeProcess } from '../../process/process-tree.ts';
import type { Clock } from '../../time/clock.ts';
import type { BrowserLimits } from './limits.ts';

type MemoryLimits = Pick<BrowserLimits, 'memoryBytes' | 'rendererBytes' | 'sharedBytes'>;

/** One look at the processes of a browser, and the processor time that each took since the look before. */
export interface ProcessSample {
  readonly processes: readonly TreeProcess[];
  readonly busyMs: ReadonlyMap<number, number>;
}

export type MemoryVerdict =
  | {
      readonly stop: 'renderer';
      readonly pid: number;
      readonly why: string;
      /** Its stored data counts as well: it stays in the browser process when the renderer has ended. */
      readonly stored: boolean;
    }
  | { readonly stop: 'browser'; readonly why: string };

const MIB = 1024 * 1024;
const formatMib = (bytes: number) => `${Math.round(bytes / MIB)} MiB`;
const sumBytes = (processes: readonly TreeProcess[]) => processes.reduce((total, { bytes }) => total + bytes, 0);

/**
 * The process that has to end: the largest renderer when it, or all processes together, take too much; when what all tabs share
 * does, the renderer that worked most, for what it asks of the browser process is held there.
 */
export function judgeMemory({ processes, busyMs }: ProcessSample, limits: MemoryLimits): MemoryVerdict | undefined {
  const renderers = processes.filter(({ isRenderer }) => isRenderer);
  const total = sumBytes(processes);
  const shared = total - sumBytes(renderers);
  const [largest] = renderers.toSorted((a, b) => b.bytes - a.bytes);
  const [busiest] = renderers.toSorted((a, b) => (busyMs.get(b.pid) ?? 0) - (busyMs.get(a.pid) ?? 0));
  // Past what all may take together no tab is looked for: the machine comes first.
  if (shared > limits.memoryBytes)
    return { stop: 'browser', why: `the browser took ${formatMib(shared)} beside its tabs` };
  if (largest !== undefined && largest.bytes > limits.rendererBytes)
    return { stop: 'renderer', pid: largest.pid, why: `it took ${formatMib(largest.bytes)} of memory`, stored: false };
  if (busiest !== undefined && shared > limits.sharedBytes)
    return {
      stop: 'renderer',
      pid: busiest.pid,
      why: `it made the browser take ${formatMib(shared)} of memory`,
      stored: true,
    };
  if (largest !== undefined && total > limits.memoryBytes)
    return {
      stop: 'renderer',
      pid: largest.pid,
      why: `the browser took ${formatMib(total)}, and most of it was this tab's`,
      stored: false,
    };
  return undefined;
}

export interface MemoryWatchOptions {
  readonly look: () => Promise<readonly TreeProcess[]>;
  readonly limits: MemoryLimits;
  readonly clock: Clock;
  /** Ends the watch. */
  readonly signal: AbortSignal;
  readonly stop: (verdict: MemoryVerdict) => void;
}

const LOOK_MS = 250;
/** Memory that a stopped renderer held in other processes is free after this; the rest belongs to another page. */
const FREED_MS = 1_500;
/** A browser that takes too much for this long, whatever was stopped, is ended. */
const PATIENCE_MS = 10_000;

/** Looks four times a second and stops what takes too much. Resolves when the signal aborts; never rejects. */
export async function watchMemory({ look, limits, clock, signal, stop }: MemoryWatchOptions): Promise<void> {
  let before = new Map<number, number>();
  let stoppedMs = -Infinity;
  let tooMuchSinceMs: number | undefined;
  const stopped = new Set<number>();
  while (!signal.aborted) {
    await clock.sleep(LOOK_MS, signal, true).catch(() => undefined);
    const processes = signal.aborted ? [] : await look().catch(() => []);
    const busyMs = new Map(processes.map(({ pid, cpuMs }) => [pid, cpuMs - (before.get(pid) ?? 0)]));
    before = new Map(processes.map(({ pid, cpuMs }) => [pid, cpuMs]));
    const alive = processes.filter(({ pid }) => !stopped.has(pid));
    const verdict = judgeMemory({ processes: alive, busyMs }, limits);
    const now = clock.nowMs();
    if (verdict === undefined) {
      tooMuchSinceMs = undefined;
      continue;
    }
    tooMuchSinceMs ??= now;
    if (verdict.stop === 'renderer' && now - tooMuchSinceMs > PATIENCE_MS)
      stop({ stop: 'browser', why: `${verdict.why}, and closing tabs did not help` });
    else if (verdict.stop === 'browser') stop(verdict);
    else if (isOwn(verdict, alive, limits) || now - stoppedMs > FREED_MS) {
      stopped.add(verdict.pid);
      stoppedMs = now;
      stop(verdict);
    }
  }
}

/** A renderer that is too large itself is stopped at once, whatever was stopped before. */
const isOwn = ({ pid }: { pid: number }, processes: readonly TreeProcess[], { rendererBytes }: MemoryLimits) =>
  processes.some(process => process.pid === pid && process.bytes > rendererBytes);
