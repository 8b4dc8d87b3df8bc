import { eventIds, type Span, type SpanIds } from '../../process/span.ts';
import type { LeaseTrace } from './lease-trace.ts';

interface RunningCall {
  readonly span: Span;
  /** Undefined: neither this runner nor its agent traces the call. */
  readonly ids: SpanIds | undefined;
}

/**
 * The spans of a lease that run. A browser's requests come by sockets and events, outside of the call that caused them: they are below
 * the page load that began last, or below the call.
 */
export class RunningSpans {
  /** Set once the runner has a lease. */
  lease: LeaseTrace | undefined;
  readonly #calls = new Set<RunningCall>();
  readonly #loads = new Set<Span>();

  /** Header for what is below; undefined while no traced call runs. */
  get traceparent(): string | undefined {
    const calls = [...this.#calls].map(({ span }) => span);
    return [...calls, ...this.#loads].findLast(({ traceparent }) => traceparent !== undefined)?.traceparent;
  }

  /** Place of an event, for the timeline: in the call that began last, or in the trace of the lease. */
  get ids(): SpanIds | undefined {
    const place = [...this.#calls].findLast(({ ids }) => ids !== undefined)?.ids ?? this.lease?.ids;
    return place && eventIds(place);
  }

  /** The call runs until the function that is returned is called. */
  beginCall(span: Span, ids: SpanIds | undefined): () => void {
    const call = { span, ids };
    this.#calls.add(call);
    this.lease?.linkTo(span);
    return () => {
      this.#calls.delete(call);
      if (this.#calls.size === 0) this.#loads.clear(); // what a page loads from now on, no call has caused
    };
  }

  beginLoad(span: Span): () => void {
    this.#loads.add(span);
    return () => void this.#loads.delete(span);
  }
}
