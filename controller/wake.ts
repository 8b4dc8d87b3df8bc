import type { Clock } from '../time/clock.ts';

/** Something to wait for again and again. Made before what waits for it and what wakes it. */
export class Wake {
  #kicks = 0;
  readonly #waiting = new Set<() => void>();

  /**
   * How often it was kicked. Read it before looking and give it to `wait`: then a kick during the look is not missed.
   */
  get kicks(): number {
    return this.#kicks;
  }

  /** Nothing waits. */
  get isIdle(): boolean {
    return this.#waiting.size === 0;
  }

  /** Wakes everything that waits. */
  readonly kick = (): void => {
    this.#kicks += 1;
    for (const wake of this.#waiting) wake();
  };

  /** Resolves when it was kicked since `seen`, when `ms` have passed or when `signal` aborts. */
  async wait(seen: number, ms: number, clock: Clock, signal?: AbortSignal): Promise<void> {
    if (this.#kicks !== seen) return;
    const woken = new AbortController();
    const wake = () => woken.abort();
    this.#waiting.add(wake);
    const either = signal ? AbortSignal.any([signal, woken.signal]) : woken.signal;
    await clock.sleep(ms, either, true).catch(() => {});
    this.#waiting.delete(wake);
  }
}
