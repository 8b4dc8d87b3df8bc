import type { Clock } from '../../time/clock.ts';

/** Works on rows of runners in the background. */
export interface RowWorker<Row> {
  /** Takes rows and begins to work on them; does not wait until that ends. */
  runOnce(): Promise<void>;
  /** Whether it works on fewer rows than it may. */
  hasRoom(): boolean;
  /** Works on a row that the caller has taken. */
  begin(row: Row): void;
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
export function rowWorker<Row extends { readonly id: string }>(parts: {
  atOnce: number;
  onRoom: () => void;
  hold: Hold | null;
  take: (most: number) => Promise<Row[]>;
  work: (row: Row, stopping: AbortSignal) => Promise<void>;
}): RowWorker<Row> {
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
  const begin = (row: Row): void => {
    if (underWay.has(row.id)) return;
    const done = work(row, stopping.signal).finally(() => {
      underWay.delete(row.id);
      if (leftSome && !stopping.signal.aborted) onRoom();
    });
    underWay.set(row.id, done);
  };
  return {
    hasRoom: () => underWay.size < atOnce && !stopping.signal.aborted,
    begin,
    async runOnce() {
      await keep();
      const free = atOnce - underWay.size;
      if (free <= 0) return;
      const taken = await take(free);
      leftSome = taken.length === free;
      taken.forEach(begin);
    },
    async stop() {
      stopping.abort();
      await Promise.all(underWay.values());
    },
  };
}
