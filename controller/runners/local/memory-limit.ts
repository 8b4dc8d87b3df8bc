import { readProcessTree } from '../../../process/process-tree.ts';
import type { Clock } from '../../../time/clock.ts';
import type { ProcessId } from './process.ts';
import { isRunning } from './process.ts';

export interface MemoryLimitOptions {
  /** Memory that a runner, its browser and its encoders may take together. */
  readonly bytesMax: number;
  readonly clock: Clock;
  /** Called once, with every process of the runner. */
  readonly onExceeded: (runnerId: string, why: string, pids: readonly number[]) => void;
}

/** Nothing but this bounds a runner that is no container: a runner watches its browser, and a fault of its own not. */
export interface MemoryLimit {
  /** Watches a runner's processes from now on; does nothing when they are watched already. */
  watch(runnerId: string, id: ProcessId): void;
  forget(runnerId: string): void;
}

const LOOK_MS = 1_000;
const MIB = 1024 * 1024;

export function memoryLimit({ bytesMax, clock, onExceeded }: MemoryLimitOptions): MemoryLimit {
  const watches = new Map<string, AbortController>();

  async function follow(runnerId: string, id: ProcessId, signal: AbortSignal): Promise<void> {
    while (isRunning(id)) {
      const processes = await readProcessTree(id.pid);
      const bytes = processes.reduce((total, each) => total + each.bytes, 0);
      if (bytes > bytesMax) {
        const [took, limit] = [bytes, bytesMax].map(each => Math.round(each / MIB));
        const why = `its processes took ${took} MiB of memory; a runner on this machine may take ${limit}`;
        onExceeded(
          runnerId,
          why,
          processes.map(({ pid }) => pid),
        );
        return;
      }
      await clock.sleep(LOOK_MS, signal, true);
    }
  }

  return {
    watch(runnerId, id) {
      if (watches.has(runnerId)) return;
      const watching = new AbortController();
      watches.set(runnerId, watching);
      follow(runnerId, id, watching.signal).catch(() => undefined); // forgotten, or its processes cannot be read
    },
    forget(runnerId) {
      watches.get(runnerId)?.abort();
      watches.delete(runnerId);
    },
  };
}
