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
const sharedBytes = (processes: readonly TreeProcess[]) => sumBytes(processes.filter(({ isRenderer }) => !isRenderer));

/**
 * The process that has to end: the largest renderer when it, or all processes together, take too much; when what all tabs share
 * does, the renderer that worked most, for what it asks of the browser process is held there.
 */
export function judgeMemory({ processes, busyMs }: ProcessSample, limits: MemoryLimits): MemoryVerdict | undefined {
  const renderers = processes.filter(({ isRenderer }) => isRenderer);
  const total = sumBytes(processes);
  const shared = sharedBytes(processes);
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
  let leastShared = Infinity;
  const stopped = new Set<number>();

  /** Stops one renderer, or the browser; true: another one may have to be stopped too, before the next look. */
  function stopOne(sample: ProcessSample, now: number): boolean {
    const verdict = judgeMemory(sample, limits);
    if (verdict === undefined) {
      tooMuchSinceMs = undefined;
      return false;
    }
    tooMuchSinceMs ??= now;
    if (verdict.stop === 'browser' || now - tooMuchSinceMs > PATIENCE_MS) {
      const why = verdict.stop === 'browser' ? verdict.why : `${verdict.why}, and closing tabs did not help`;
      stop({ stop: 'browser', why });
      return false;
    }
    const isNext = isCrowded(verdict, sample, leastShared, limits);
    if (!isNext && !isOwn(verdict, sample, limits) && now - stoppedMs <= FREED_MS) return false;
    stopped.add(verdict.pid);
    stoppedMs = now;
    stop(verdict);
    return isNext;
  }

  while (!signal.aborted) {
    await clock.sleep(LOOK_MS, signal, true).catch(() => undefined);
    const processes = signal.aborted ? [] : await look().catch(() => []);
    const busyMs = new Map(processes.map(({ pid, cpuMs }) => [pid, cpuMs - (before.get(pid) ?? 0)]));
    before = new Map(processes.map(({ pid, cpuMs }) => [pid, cpuMs]));
    if (processes.length > 0) leastShared = Math.min(leastShared, sharedBytes(processes));
    const alive = () => processes.filter(({ pid }) => !stopped.has(pid));
    while (stopOne({ processes: alive(), busyMs }, clock.nowMs()));
  }
}

/** A renderer that is too large itself is stopped at once, whatever was stopped before. */
const isOwn = ({ pid }: { pid: number }, { processes }: ProcessSample, { rendererBytes }: MemoryLimits) =>
  processes.some(process => process.pid === pid && process.bytes > rendererBytes);

/**
 * Whether renderers take too much even if the others took as little as they ever did: then one is stopped after the other. A page may open
 * tabs, each with a process, faster than one is stopped each time that memory is waited for.
 */
const isCrowded = (
  { stored }: { stored: boolean },
  { processes }: ProcessSample,
  leastShared: number,
  { memoryBytes }: MemoryLimits,
) => !stored && sumBytes(processes) - sharedBytes(processes) + leastShared > memoryBytes;
