import { type Clock, realClock } from '../../time/clock.ts';

/** The machine's time, which a test can move: for whole processes, most of whose waits are for real. */
export interface MovableClock extends Clock {
  /** Every wait that would be over by then ends now. */
  advance(ms: number): void;
}

/** `stands`: the time moves by `advance` alone, so that a busy machine passes no deadline that is compared with it. */
export function movableClock({ stands = false } = {}): MovableClock {
  let aheadMs = 0;
  const waits = new Set<{ atMs: number; over: AbortController }>();
  const startMs = realClock.nowMs();
  const nowMs = () => (stands ? startMs : realClock.nowMs()) + aheadMs;
  return {
    nowMs,
    random: realClock.random,
    async sleep(ms, signal, idle) {
      const wait = { atMs: nowMs() + ms, over: new AbortController() };
      waits.add(wait);
      try {
        await realClock.sleep(ms, AbortSignal.any([signal, wait.over.signal]), idle);
      } catch (error) {
        if (signal.aborted || !wait.over.signal.aborted) throw error;
      } finally {
        waits.delete(wait);
      }
    },
    advance(ms) {
      aheadMs += ms;
      for (const wait of waits) if (wait.atMs <= nowMs()) wait.over.abort();
    },
  };
}
