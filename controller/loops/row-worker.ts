import type { Clock } from '../../time/clock.ts';
import type { TakenRow } from '../store/fleet.ts';

/** Works on rows of runners in the background. */
export interface RowWorker {
  /** Takes rows and begins to work on them; does not wait until that ends. */
  runOnce(): Promise<void>;
  /** Resolves when no work is under way; another worker takes it up when its hold on the row has passed. */
  stop(): Promise<void>;
}

/** Rows are held for longer while their work goes on. Call `runOnce` more often than `everyMs`. */
export interface Hold {
  everyMs: number;
  keep: (ids: readonly string[]) => Promise<void>;
  clock: Clock;
}

/**
 * One worker a row, `atOnce` rows together. `work` must not reject, and ends soon when `stopping` aborts. `onRoom` is called when a work
 * ends after rows may have been left. `hold` is null where no work takes longer than a row is held.
 */
export function rowWorker(parts: {
  atOnce: number;
  onRoom: () => void;
  hold: Hold | null;
  take: (most: number) => Promise<TakenRow[]>;
  work: (row: TakenRow, stopping: AbortSignal) => Promise<void>;
}): RowWorker {
  const { atOnce, onRoom, hold, take, work } = parts;
  const underWay = new Map<string, Promise<void>>();
  const stopping = new AbortController();
  let leftSome = false;
  let keptMs = hold?.clock.nowMs() ?? 0;
  const keep = async (): Promise<void> => {
    if (hold === null || hold.clock.nowMs() - keptMs < hold.everyMs) return;
    keptMs = hold.clock.nowMs();
    if (underWay.size > 0) await hold.keep([...underWay.keys()]);
  };
  return {
    async runOnce() {
      await keep();
      const free = atOnce - underWay.size;
      if (free <= 0) return;
      const taken = await take(free);
      leftSome = taken.length === free;
      for (const row of taken) {
        if (underWay.has(row.id)) continue;
        const done = work(row, stopping.signal).finally(() => {
          underWay.delete(row.id);
          if (leftSome && !stopping.signal.aborted) onRoom();
        });
        underWay.set(row.id, done);
      }
    },
    async stop() {
      stopping.abort();
      await Promise.all(underWay.values());
    },
  };
}
