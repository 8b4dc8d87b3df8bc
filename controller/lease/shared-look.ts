import { type Clock, neverAborts } from '../../time/clock.ts';

/** One look at the database for all who ask at about the same time; at most one begins in `restMs`, and none while no one asks. */
export class SharedLook<T> {
  readonly #look: () => Promise<T>;
  readonly #restMs: number;
  readonly #clock: Clock;
  #next: Promise<T> | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #beganMs = Number.NEGATIVE_INFINITY;

  constructor(look: () => Promise<T>, restMs: number, clock: Clock) {
    this.#look = look;
    this.#restMs = restMs;
    this.#clock = clock;
  }

  /** The first look that begins after this call. */
  next(): Promise<T> {
    this.#next ??= this.#begin();
    return this.#next;
  }

  async #begin(): Promise<T> {
    await this.#last;
    const leftMs = this.#beganMs + this.#restMs - this.#clock.nowMs();
    if (leftMs > 0) await this.#clock.sleep(leftMs, neverAborts(), true);
    this.#next = undefined;
    this.#beganMs = this.#clock.nowMs();
    const found = this.#look();
    this.#last = found.catch(() => {}); // each who asks sees the error
    return found;
  }
}
