import type { TakenRow } from '../store/fleet.ts';

/** Works on rows of runners in the background. */
export interface RowWorker {
  /** Takes rows and begins to work on them; does not wait until that ends. */
  runOnce(): Promise<void>;
  /** Resolves when no work is under way; another worker takes it up when its hold on the row has passed. */
  stop(): Promise<void>;
}

/**
 * One worker a row, `atOnce` rows together. `work` must not reject, and ends soon when `stopping` aborts. `onRoom` is called when a work
 * ends after rows may have been left.
 */
export function rowWorker(parts: {
  atOnce: number;
  onRoom: () => void;
  take: (most: number) => Promise<TakenRow[]>;
  work: (row: TakenRow, stopping: AbortSignal) => Promise<void>;
}): RowWorker {
  const { atOnce, onRoom, take, work } = parts;
  const underWay = new Map<string, Promise<void>>();
  const stopping = new AbortController();
  let leftSome = false;
  return {
    async runOnce() {
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
