import { type Backoff, backoffMs } from '../../time/backoff.ts';
import { type Clock, neverAborts } from '../../time/clock.ts';
import { Wake } from '../wake.ts';

/** Between two looks, however many come. */
const LEAST_MS = 25;
/** More keys take longer to look for: with a thousand, a look begins each 250 ms at most. */
const KEY_REST_MS = 0.25;

interface Waiter<Found> extends PromiseWithResolvers<Found> {
  readonly key: string;
}

export interface SharedWaitOptions<Found> {
  /** Answers those of the keys that need not be awaited any more. */
  readonly look: (keys: readonly string[]) => Promise<ReadonlyMap<string, Found>>;
  /** Time between two looks for what other processes did, from the last one for which someone came. */
  readonly rest: Backoff;
  readonly clock: Clock;
}

export interface WaitOptions {
  readonly signal: AbortSignal;
  /** The caller has read the row just now: no look is made for it at once. */
  readonly hasLooked?: boolean;
}

/**
 * Waits for rows to change. One look at the database reads all that is awaited, however many wait, and none is made while no one waits. A change of
 * this process wakes those alone that wait for its row. Keys are `id` or `id/part`: a row, or something of it.
 */
export class SharedWait<Found> {
  readonly #options: SharedWaitOptions<Found>;
  readonly #waiters = new Map<string, Set<Waiter<Found>>>();
  readonly #joined = new Wake();
  #count = 0;
  /** Those of `#joined` for which a look was made. */
  #lookedKicks = 0;
  #lookedMs = Number.NEGATIVE_INFINITY;
  #isRunning = false;

  constructor(options: SharedWaitOptions<Found>) {
    this.#options = options;
  }

  /** Resolves with what a look found of this key. Rejects when a look fails, and with the signal's reason when it aborts. */
  async wait(key: string, { signal, hasLooked = false }: WaitOptions): Promise<Found> {
    signal.throwIfAborted();
    const waiter = { key, ...Promise.withResolvers<Found>() };
    const leave = () => waiter.reject(signal.reason);
    signal.addEventListener('abort', leave, { once: true });
    this.#add(waiter);
    if (!hasLooked) this.#joined.kick();
    if (!this.#isRunning) void this.#lookUntilFound();
    try {
      return await waiter.promise;
    } finally {
      signal.removeEventListener('abort', leave);
      this.#remove(waiter);
    }
  }

  /** The same for `ms` at most. Undefined: they have passed, or the signal has aborted. */
  async within(ms: number, key: string, options: WaitOptions): Promise<Found | undefined> {
    if (options.signal.aborted || ms <= 0) return undefined;
    const over = new AbortController();
    const signal = AbortSignal.any([options.signal, over.signal]);
    void this.#options.clock.sleep(ms, over.signal, true).then(
      () => over.abort(),
      () => {},
    );
    try {
      return await this.wait(key, { ...options, signal });
    } catch (error) {
      if (signal.aborted) return undefined;
      throw error;
    } finally {
      over.abort();
    }
  }

  /** This row was changed here: those who wait for something of it look now, all in one look. */
  changed(id: string): void {
    const waiters = this.#waiters.get(id);
    if (waiters !== undefined) void this.#lookOnce([...waiters]);
  }

  /** This process knows of this row what a look would find; `find` answers undefined for keys of which it does not. */
  settle(id: string, find: (key: string) => Found | undefined): void {
    for (const waiter of [...(this.#waiters.get(id) ?? [])]) {
      const found = find(waiter.key);
      if (found === undefined) continue;
      this.#remove(waiter);
      waiter.resolve(found);
    }
  }

  #add(waiter: Waiter<Found>): void {
    const id = idOf(waiter.key);
    const waiters = this.#waiters.get(id) ?? new Set();
    this.#waiters.set(id, waiters.add(waiter));
    this.#count += 1;
  }

  #remove(waiter: Waiter<Found>): void {
    const id = idOf(waiter.key);
    const waiters = this.#waiters.get(id);
    if (!waiters?.delete(waiter)) return;
    this.#count -= 1;
    if (waiters.size === 0) this.#waiters.delete(id);
  }

  async #lookUntilFound(): Promise<void> {
    const { rest, clock } = this.#options;
    this.#isRunning = true;
    let restsFromMs = clock.nowMs();
    for (let attempt = 0; this.#count > 0; ) {
      const restMs = restsFromMs + backoffMs(attempt, rest, clock.random) - clock.nowMs();
      if (restMs > 0) await this.#joined.wait(this.#lookedKicks, restMs, clock);
      const leastMs = this.#lookedMs + Math.max(LEAST_MS, this.#count * KEY_REST_MS) - clock.nowMs();
      if (leastMs > 0) await clock.sleep(leastMs, neverAborts(), true);
      if (this.#count === 0) break;
      attempt = this.#joined.kicks === this.#lookedKicks ? attempt + 1 : 0;
      this.#lookedKicks = this.#joined.kicks;
      this.#lookedMs = clock.nowMs();
      restsFromMs = this.#lookedMs;
      await this.#lookOnce([...this.#waiters.values()].flatMap(waiters => [...waiters]));
    }
    this.#isRunning = false;
  }

  async #lookOnce(waiters: readonly Waiter<Found>[]): Promise<void> {
    try {
      const found = await this.#options.look([...new Set(waiters.map(({ key }) => key))]);
      for (const waiter of waiters) {
        const value = found.get(waiter.key);
        if (value === undefined) continue;
        this.#remove(waiter);
        waiter.resolve(value);
      }
    } catch (error) {
      for (const waiter of waiters) {
        this.#remove(waiter);
        waiter.reject(error);
      }
    }
  }
}

const idOf = (key: string): string => key.split('/', 1)[0] ?? key;
