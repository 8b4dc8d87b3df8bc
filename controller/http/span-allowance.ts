/** Spans that one lease may send in a minute. A call makes some ten, and one that is not traced makes none. */
export const SPANS_PER_MINUTE = 6_000;
const MINUTE_MS = 60_000;

/** Bounds what one runner can send to the collector: a page that took it over has its tokens. */
export class SpanAllowance {
  readonly #taken = new Map<string, number>();
  #sinceMs = 0;

  /** The number of these spans of the lease that are taken. */
  take(sessionId: string, count: number, nowMs: number): number {
    if (nowMs - this.#sinceMs >= MINUTE_MS) {
      this.#taken.clear();
      this.#sinceMs = nowMs;
    }
    const before = this.#taken.get(sessionId) ?? 0;
    const taken = Math.min(count, SPANS_PER_MINUTE - before);
    this.#taken.set(sessionId, before + taken);
    return taken;
  }
}
