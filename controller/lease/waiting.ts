import { type Backoff, waitBackoff } from '../../time/backoff.ts';
import type { Clock } from '../../time/clock.ts';
import type { Directory } from '../store/directory.ts';

/** Between two reads of a row that another process changes: a start from a warm runner takes some 50 ms. */
export const POLL: Backoff = { firstMs: 25, maxMs: 250, factor: 1.5, jitter: 0.4 };

/** The promise's value, or undefined when `deadlineMs` (by the clock) came first; the promise goes on. */
export async function settledBefore<T>(deadlineMs: number, promise: Promise<T>, clock: Clock): Promise<T | undefined> {
  const timer = new AbortController();
  const late = clock.sleep(Math.max(0, deadlineMs - clock.nowMs()), timer.signal, true).then(() => undefined);
  try {
    return await Promise.race([promise, late]);
  } finally {
    timer.abort();
  }
}

/**
 * Waits for starts that another caller leads. However many callers wait for one start, one loop reads the database; a
 * start led in this process ends the wait at once.
 */
export class Waiting {
  readonly #directory: Directory;
  readonly #clock: Clock;
  readonly #waits = new Map<string, { settled: Promise<void>; wake: () => void }>();

  constructor(directory: Directory, clock: Clock) {
    this.#directory = directory;
    this.#clock = clock;
  }

  /**
   * Resolves when that epoch's start has ended or its claimer has stopped renewing its claim, with `false` when
   * `deadlineMs` (by the clock) came first.
   */
  async settled(sessionId: string, epoch: number, deadlineMs: number): Promise<boolean> {
    const key = `${sessionId}/${epoch}`;
    const wait = this.#waits.get(key) ?? this.#begin(key, sessionId, epoch);
    const settled = wait.settled.then(() => true);
    return (await settledBefore(deadlineMs, settled, this.#clock)) ?? false;
  }

  /** A start of this process has ended. */
  wake(sessionId: string, epoch: number): void {
    this.#waits.get(`${sessionId}/${epoch}`)?.wake();
  }

  #begin(key: string, sessionId: string, epoch: number) {
    const woken = new AbortController();
    const settled = this.#poll(sessionId, epoch, woken.signal).finally(() => this.#waits.delete(key));
    settled.catch(() => {}); // each waiter sees the error; there may be no waiter left
    const wait = { settled, wake: () => woken.abort() };
    this.#waits.set(key, wait);
    return wait;
  }

  async #poll(sessionId: string, epoch: number, woken: AbortSignal): Promise<void> {
    for (let attempt = 0; !woken.aborted; attempt++) {
      if (await this.#directory.isSettled(sessionId, epoch)) return;
      await waitBackoff(attempt, POLL, woken, this.#clock).catch(() => {}); // woken: it has settled
    }
  }
}
