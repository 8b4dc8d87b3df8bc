import type { TakenRow } from '../store/fleet.ts';

/** Works on rows of runners in the background. */
export interface RowWorker {
  /** Takes rows and begins to work on them; does not wait until that ends. */
  runOnce(): Promise<void>;
  /** Resolves when no work is under way; another worker takes it up when its hold on the row has passed. */
  stop(): Promise<void>;
}

/** One worker a row, `atOnce` rows together. `work` must not reject, and ends soon when `stopping` aborts. */
export function rowWorker(parts: {
  atOnce: number;
  take: (most: number) => Promise<TakenRow[]>;
  work: (row: TakenRow, stopping: AbortSignal) => Promise<void>;
}): RowWorker {
  const { atOnce, take, work } = parts;
  const underWay = new Map<string, Promise<void>>();
  const stopping = new AbortController();
  return {
    async runOnce() {
      const free = atOnce - underWay.size;
      if (free <= 0) return;
      for (const row of await take(free)) {
        if (underWay.has(row.id)) continue;
        const done = work(row, stopping.signal).finally(() => underWay.delete(row.id));
        underWay.set(row.id, done);
      }
    },
    async stop() {
      stopping.abort();
      await Promise.all(underWay.values());
    },
  };
}
