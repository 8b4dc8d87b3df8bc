import type { Clock } from '../../time/clock.ts';
import { Wake } from '../wake.ts';

/** Between two looks at the database for what other replicas did. */
const POLL_MS = 250;

/**
 * Waits for something to change: looks at once, then whenever this process changed something (`kick`), and at an
 * interval for what another replica did.
 */
export class ChangeSignal {
  readonly #clock: Clock;
  readonly #changed = new Wake();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Something changed here: everything that waits looks now. */
  readonly kick = (): void => this.#changed.kick();

  /** Resolves with the first answer of `look` that `settled` accepts, or with its last one when `waitMs` have passed. */
  async until<T>(look: () => Promise<T>, settled: (seen: T) => boolean, waitMs: number): Promise<T> {
    const deadlineMs = this.#clock.nowMs() + waitMs;
    for (;;) {
      const { kicks } = this.#changed;
      const seen = await look();
      const leftMs = deadlineMs - this.#clock.nowMs();
      if (settled(seen) || leftMs <= 0) return seen;
      await this.#changed.wait(kicks, Math.min(POLL_MS, leftMs), this.#clock);
    }
  }
}
