import type { Logger } from 'pino';
import type { RunnerProvider } from '../ports/runners.ts';
import type { Fleet } from '../store/fleet.ts';

/** S8: a runner that cannot start is tried again, ever more slowly, up to once a minute. */
const BACKOFF_MAX_MS = 60_000;

/** Keeps warm runners. The rows decide, in one transaction; what it drains was nobody's when it was drained. */
export class Pool {
  readonly #fleet: Fleet;
  readonly #provider: RunnerProvider;
  readonly #idle: number;
  readonly #burst: number;
  readonly #kickLaunch: () => void;
  readonly #kickDrain: () => void;
  readonly #log: Logger;
  #failures = 0;
  #notBeforeMs = 0;

  constructor(parts: {
    fleet: Fleet;
    provider: RunnerProvider;
    /** Warm runners to hold, and how many may be begun in one step. */
    idle: number;
    burst: number;
    kickLaunch: () => void;
    kickDrain: () => void;
    log: Logger;
  }) {
    this.#fleet = parts.fleet;
    this.#provider = parts.provider;
    this.#idle = parts.idle;
    this.#burst = parts.burst;
    this.#kickLaunch = parts.kickLaunch;
    this.#kickDrain = parts.kickDrain;
    this.#log = parts.log;
  }

  async runOnce(): Promise<void> {
    if (performance.now() < this.#notBeforeMs) return;
    const burst = this.#failures > 0 ? 1 : this.#burst;
    const begun = await this.#fleet.plan(this.#provider.name, await this.#provider.template(), this.#idle, burst);
    if (begun > 0) {
      this.#log.debug({ begun }, 'the pool begins runners');
      this.#kickLaunch();
    }
    this.#kickDrain();
  }

  failed(): void {
    this.#failures += 1;
    const pauseMs = Math.min(BACKOFF_MAX_MS, 500 * 2 ** this.#failures);
    this.#notBeforeMs = performance.now() + pauseMs * (0.75 + Math.random() / 2);
  }

  succeeded(): void {
    this.#failures = 0;
    this.#notBeforeMs = 0;
  }
}
