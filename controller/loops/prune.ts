import type { Logger } from 'pino';
import type { Clock } from '../../time/clock.ts';
import type { Metrics } from '../metrics.ts';
import type { Pruned, Pruning } from '../store/pruning.ts';

export interface PruneParts {
  pruning: Pruning;
  metrics: Pick<Metrics, 'pruned'>;
  /** Days for which each is kept; 0: without end. */
  days: { events: number; sessions: number };
  clock: Clock;
  log: Logger;
}

/** One round lasts this long at most; the next one goes on from there. */
const ROUND_MS = 10_000;
/** Sessions are looked at from the oldest once in this time: those that live on are read each time. */
const SESSIONS_EVERY_MS = 3_600_000;

/** Position of a walk; `after` is undefined at its beginning. */
interface Walk {
  after: unknown;
  notBeforeMs: number;
}

/** Removes rows past their retention, in batches that leave room for others; nothing where another replica is at it. */
export function pruneLoop(parts: PruneParts): { runOnce(): Promise<void> } {
  const { pruning, metrics, days, clock, log } = parts;
  const walks: Record<'events' | 'sessions', Walk> = {
    events: { after: null, notBeforeMs: 0 },
    sessions: { after: null, notBeforeMs: 0 },
  };

  function count(batch: NonNullable<Pruned>): void {
    const rows = Object.fromEntries(Object.entries(batch.rows).filter(([, count]) => count > 0));
    for (const [table, count] of Object.entries(rows)) metrics.pruned(table, count);
    if (Object.keys(rows).length > 0) log.info({ rows }, 'old rows removed');
  }

  /** Goes on with a walk until its end, or the round's. */
  async function go(
    walk: Walk,
    everyMs: number,
    endMs: number,
    step: (after: unknown) => Promise<Pruned>,
  ): Promise<void> {
    while (clock.nowMs() >= walk.notBeforeMs && clock.nowMs() < endMs) {
      const batch = await step(walk.after);
      if (batch === null) return;
      count(batch);
      walk.after = batch.more ? batch.after : null;
      if (batch.more) continue;
      walk.notBeforeMs = clock.nowMs() + everyMs;
      return;
    }
  }

  return {
    async runOnce() {
      const endMs = clock.nowMs() + ROUND_MS;
      if (days.events > 0) await go(walks.events, 0, endMs, after => pruning.events(days.events, after));
      if (days.sessions === 0) return;
      await go(walks.sessions, SESSIONS_EVERY_MS, endMs, after => pruning.sessions(days.sessions, after));
      let batch: Pruned;
      do {
        batch = await pruning.runners(days.sessions);
        if (batch !== null) count(batch);
      } while (batch?.more === true && clock.nowMs() < endMs);
    },
  };
}
