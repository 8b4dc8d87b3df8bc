import type { Clock } from '../../time/clock.ts';

export interface CheckpointOptions {
  /** 0: none. */
  readonly everyMs: number;
  readonly clock: Clock;
  /** When the browser was last used. */
  readonly usedAtMs: () => number;
  /** Rejects where the version before stays. */
  readonly save: () => Promise<unknown>;
  readonly warn: (error: unknown) => void;
  readonly signal: AbortSignal;
}

/** Saves a profile now and then while its lease is used, so that a runner that dies costs minutes of it. Resolves with the signal. */
export async function saveAtCheckpoints(options: CheckpointOptions): Promise<void> {
  const { everyMs, clock, usedAtMs, save, warn, signal } = options;
  if (everyMs === 0) return;
  for (let savedMs = clock.nowMs(); ; ) {
    await clock.sleep(everyMs, signal, true).catch(() => undefined);
    if (signal.aborted) return;
    if (usedAtMs() <= savedMs) continue;
    await save().catch(warn);
    savedMs = clock.nowMs(); // a save is a use too
  }
}
