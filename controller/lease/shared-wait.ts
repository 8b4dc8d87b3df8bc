import { type Backoff, backoffMs } from '../../time/backoff.ts';
import { type Clock, neverAborts } from '../../time/clock.ts';
import { Wake } from '../wake.ts';

/** Between two looks at rows that another process changes: a start from a warm runner takes some 50 ms. */
const REST: Backoff = { firstMs: 25, maxMs: 250, factor: 1.5, jitter: 0.4 };
/** More keys take longer to look for: with a thousand, a look begins each 250 ms at most. */
const KEY_REST_MS = 0.25;

interface Waiter<Found> extends PromiseWithResolvers<Found> {
  readonly key: string;
}

/**
 * Waits for rows to change. One look at the database reads them all, however many are awaited; none is made while no one waits.
 */
export class SharedWait<Found> {
  readonly #look: (keys: readonly string[]) => Promise<ReadonlyMap<string, Found>>;
  readonly #clock: Clock;
  readonly #waiters = new Set<Waiter<Found>>();
  readonly #joined = new Wake();
  #isLooking = false;

  /** `look` answers those of the keys that need not be awaited any more. */
  constructor(look: (keys: readonly string[]) => Promise<ReadonlyMap<string, Found>>, clock: Clock) {
    this.#look = look;
    this.#clock = clock;
  }

  /** Resolves with what a look found of this key. Rejects when a look fails, and with the signal's reason when it aborts. */
  async wait(key: string, signal: AbortSignal): Promise<Found> {
    signal.throwIfAborted();
    const waiter = { key, ...Promise.withResolvers<Found>() };
    const leave = () => waiter.reject(signal.reason);
    signal.addEventListener('abort', leave, { once: true });
    this.#waiters.add(waiter);
    this.#joined.kick();
    if (!this.#isLooking) void this.#lookUntilFound();
    try {
      return await waiter.promise;
    } finally {
      signal.removeEventListener('abort', leave);
      this.#waiters.delete(waiter);
    }
  }

  async #lookUntilFound(): Promise<void> {
    this.#isLooking = true;
    let attempt = 0;
    while (this.#waiters.size > 0) {
      const seen = this.#joined.kicks;
      const beganMs = this.#clock.nowMs();
      await this.#lookOnce([...this.#waiters]);
      if (this.#waiters.size === 0) break;
      const leastMs = beganMs + Math.max(REST.firstMs, this.#waiters.size * KEY_REST_MS) - this.#clock.nowMs();
      if (leastMs > 0) await this.#clock.sleep(leastMs, neverAborts(), true);
      if (this.#joined.kicks !== seen) attempt = 0;
      const restMs = beganMs + backoffMs(attempt++, REST, this.#clock.random) - this.#clock.nowMs();
      if (restMs > 0) await this.#joined.wait(seen, restMs, this.#clock);
    }
    this.#isLooking = false;
  }

  async #lookOnce(waiters: readonly Waiter<Found>[]): Promise<void> {
    try {
      const found = await this.#look([...new Set(waiters.map(({ key }) => key))]);
      for (const waiter of waiters) {
        const value = found.get(waiter.key);
        if (value === undefined) continue;
        this.#waiters.delete(waiter);
        waiter.resolve(value);
      }
    } catch (error) {
      for (const waiter of waiters) {
        this.#waiters.delete(waiter);
        waiter.reject(error);
      }
    }
  }
}
