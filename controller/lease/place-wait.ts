import { NO_SPAN, type Span } from '../../process/span.ts';
import { openSpan } from '../../process/tracing.ts';
import type { Clock } from '../../time/clock.ts';

/** A caller waited this long for a place: it got one, was refused, or left. */
export type OnWaited = (seconds: number, outcome: WaitOutcome) => void;

type WaitOutcome = 'place' | 'refused' | 'left';

/** The wait of one caller in the line, once every place is taken: its time, and a span with the callers before it. */
export class PlaceWait {
  readonly #clock: Pick<Clock, 'nowMs'>;
  readonly #onWaited: OnWaited;
  #sinceMs: number | undefined;
  #span: Span = NO_SPAN;

  constructor(clock: Pick<Clock, 'nowMs'>, onWaited: OnWaited) {
    this.#clock = clock;
    this.#onWaited = onWaited;
  }

  /** `turn`: the callers before it. Only the first call has an effect. */
  begin(turn: number | undefined): void {
    if (this.#sinceMs !== undefined) return;
    this.#sinceMs = this.#clock.nowMs();
    const attributes = turn === undefined ? {} : { 'omicron.queue.turn': turn };
    this.#span = openSpan('wait for a place', { kind: 'internal', attributes });
  }

  /** Does a step of the wait, below its span. */
  during<T>(step: () => Promise<T>): Promise<T> {
    return this.#span.run(step);
  }

  /** Counts a wait that has begun. */
  end(outcome: WaitOutcome): void {
    if (this.#sinceMs === undefined) return;
    this.#onWaited((this.#clock.nowMs() - this.#sinceMs) / 1_000, outcome);
    this.#span.set({ 'omicron.queue.outcome': outcome });
  }

  [Symbol.dispose](): void {
    this.#span.end();
  }
}
