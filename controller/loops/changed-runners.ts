import { Wake } from '../wake.ts';

/** Runners that may have ended: their provider saw a change of each. */
export class ChangedRunners {
  #ids = new Set<string>();
  /** Kicked at each one. */
  readonly wake = new Wake();

  readonly add = (runnerId: string): void => {
    this.#ids.add(runnerId);
    this.wake.kick();
  };

  /** Those since it was called last. */
  take(): string[] {
    const ids = [...this.#ids];
    this.#ids = new Set();
    return ids;
  }
}
