import type { Clock } from '../../time/clock.ts';

export interface Abandonment {
  /** A lease has an end of its own. */
  readonly isUnleased: () => boolean;
  /** Rejects when the controller does not answer. */
  readonly ping: (signal: AbortSignal) => Promise<unknown>;
  readonly everyMs: number;
  /** How long the controller may be unreachable before it counts as gone. */
  readonly goneAfterMs: number;
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

/**
 * Resolves true when an unleased runner's controller is gone: the process that would end the runner was killed.
 * False: it was leased, or it stops for another reason.
 */
export async function waitUntilAbandoned({
  isUnleased,
  ping,
  everyMs,
  goneAfterMs,
  signal,
  clock,
}: Abandonment): Promise<boolean> {
  let answeredAtMs = clock.nowMs();
  while (isUnleased() && !signal.aborted) {
    try {
      await ping(AbortSignal.any([signal, AbortSignal.timeout(Math.min(everyMs, 5_000))]));
      answeredAtMs = clock.nowMs();
    } catch {
      if (clock.nowMs() - answeredAtMs > goneAfterMs) return isUnleased() && !signal.aborted;
    }
    await clock.sleep(everyMs, signal, true).catch(() => {});
  }
  return false;
}
