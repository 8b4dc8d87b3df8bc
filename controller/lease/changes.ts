import { setTimeout as sleep } from 'node:timers/promises';

/** Between two looks at the database for what other replicas did. */
const LOOK_MS = 250;

/**
 * Waits for something to change: looks at once, then whenever this process changed something (`kick`), and now and then for
 * what another replica did.
 */
export class Changes {
  #next = Promise.withResolvers<void>();

  /** Something changed here: whoever waits looks now. */
  kick(): void {
    const changed = this.#next;
    this.#next = Promise.withResolvers();
    changed.resolve();
  }

  /** What `look` answers once `settled` likes it, or its last answer when `waitMs` have passed. */
  async until<T>(look: () => Promise<T>, settled: (seen: T) => boolean, waitMs: number): Promise<T> {
    const deadlineMs = performance.now() + waitMs;
    for (;;) {
      const kicked = this.#next.promise; // before the look: a change during it must not be missed
      const seen = await look();
      const leftMs = deadlineMs - performance.now();
      if (settled(seen) || leftMs <= 0) return seen;
      const timer = new AbortController();
      await Promise.race([
        kicked,
        sleep(Math.min(LOOK_MS, leftMs), undefined, { signal: timer.signal }).catch(() => {}),
      ]);
      timer.abort();
    }
  }
}
