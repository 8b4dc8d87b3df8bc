import { setTimeout as delay } from 'node:timers/promises';

/** Waits before try `n` (from 0): 100 ms, doubled up to `capMs`, with full jitter. Rejects when aborted. */
export const backoff = (n: number, signal: AbortSignal, capMs = 5_000): Promise<void> =>
  delay(Math.random() * Math.min(capMs, 100 * 2 ** n) + 20, undefined, { signal });
