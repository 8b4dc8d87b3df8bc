import { type Clock, neverAborts } from '../../time/clock.ts';
import type { Awaited, FindSettled } from '../store/awaited.ts';
import { Wake } from '../wake.ts';

/** Between two looks at the database for what other replicas did. */
const POLL_MS = 250;

interface Waiter {
  readonly awaited: Awaited;
  readonly wake: Wake;
  /** The database could not be read. */
  error?: unknown;
}

/**
 * Waits for something to change. A request waits for its session: it looks at once, when this process changed that session (`kick`), and
 * when one look that all share finds that another replica did. `untilAny` follows all sessions.
 */
export class ChangeSignal {
  readonly #clock: Clock;
  readonly #findSettled: FindSettled;
  readonly #stopped: AbortSignal;
  readonly #changed = new Wake();
  readonly #waiters = new Set<Waiter>();
  #running = false;

  /** `stopped`: this process is about to end. A runner that waits for a user action is answered then, and asks another replica. */
  constructor(clock: Clock, findSettled: FindSettled, stopped: AbortSignal = neverAborts()) {
    this.#clock = clock;
    this.#findSettled = findSettled;
    this.#stopped = stopped;
  }

  /** This session changed here; without one, some session did. */
  kick(sessionId?: string): void {
    this.#changed.kick();
    for (const { awaited, wake } of this.#waiters) if (awaited.sessionId === sessionId) wake.kick();
  }

  /**
   * Resolves with the first answer of `look` that `settled` accepts, or with the last one when `waitMs` have passed. `seen`: an answer that the
   * caller has already, in place of the first look.
   */
  async until<T>(
    awaited: Awaited,
    look: () => Promise<T>,
    settled: (seen: T) => boolean,
    waitMs: number,
    seen?: T,
  ): Promise<T> {
    const untilMs = this.#clock.nowMs() + waitMs;
    const stopped = 'actionId' in awaited ? this.#stopped : undefined;
    const waiter: Waiter = { awaited, wake: new Wake() };
    this.#waiters.add(waiter);
    try {
      for (let known = seen; ; known = undefined) {
        const { kicks } = waiter.wake;
        const found = known ?? (await look());
        const leftMs = untilMs - this.#clock.nowMs();
        if (settled(found) || leftMs <= 0 || stopped?.aborted) return found;
        if (!this.#running) void this.#run();
        await waiter.wake.wait(kicks, leftMs, this.#clock, stopped);
        if (waiter.error) throw waiter.error;
        if (waiter.wake.kicks === kicks) return found; // the time is over, or it stops, and nothing changed
      }
    } finally {
      this.#waiters.delete(waiter);
    }
  }

  /** The same for what may change with any session. It looks at each change of this process, and at an interval. */
  async untilAny<T>(look: () => Promise<T>, settled: (seen: T) => boolean, waitMs: number): Promise<T> {
    const untilMs = this.#clock.nowMs() + waitMs;
    for (;;) {
      const { kicks } = this.#changed;
      const seen = await look();
      const leftMs = untilMs - this.#clock.nowMs();
      if (settled(seen) || leftMs <= 0) return seen;
      await this.#changed.wait(kicks, Math.min(POLL_MS, leftMs), this.#clock);
    }
  }

  async #run(): Promise<void> {
    this.#running = true;
    for (;;) {
      await this.#clock.sleep(POLL_MS, neverAborts(), true);
      const waiters = [...this.#waiters];
      if (waiters.length === 0) break;
      await this.#wakeSettled(waiters);
    }
    this.#running = false;
  }

  async #wakeSettled(waiters: readonly Waiter[]): Promise<void> {
    try {
      const settled = new Set(await this.#findSettled(waiters.map(({ awaited }) => awaited)));
      for (const { awaited, wake } of waiters) if (settled.has(awaited)) wake.kick();
    } catch (error) {
      for (const waiter of waiters) {
        waiter.error = error;
        waiter.wake.kick();
      }
    }
  }
}
