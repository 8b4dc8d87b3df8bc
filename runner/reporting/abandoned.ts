import { setTimeout as delay } from 'node:timers/promises';

export interface Abandonment {
  /** Whether the runner is still nobody's; a lease has an end of its own. */
  readonly isUnleased: () => boolean;
  /** Rejects when the controller does not answer. */
  readonly ping: (signal: AbortSignal) => Promise<unknown>;
  readonly everyMs: number;
  /** Away for so long, a controller counts as gone. */
  readonly goneAfterMs: number;
  readonly signal: AbortSignal;
}

/**
 * Resolves true when an unleased runner's controller is gone for good: whoever started it was killed, and nobody would
 * ever end it. False: it was leased, or it stops for another reason.
 */
export async function abandoned({ isUnleased, ping, everyMs, goneAfterMs, signal }: Abandonment): Promise<boolean> {
  let answeredAtMs = performance.now();
  while (isUnleased() && !signal.aborted) {
    try {
      await ping(AbortSignal.any([signal, AbortSignal.timeout(Math.min(everyMs, 5_000))]));
      answeredAtMs = performance.now();
    } catch {
      if (performance.now() - answeredAtMs > goneAfterMs) return isUnleased() && !signal.aborted;
    }
    await delay(everyMs, undefined, { signal }).catch(() => {});
  }
  return false;
}
