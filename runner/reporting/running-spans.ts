import type { Span } from '../../process/span.ts';

/**
 * The spans of a lease that run. A browser's requests come by sockets and events, outside of the call that caused them: they are below
 * the page load that began last, or below the call.
 */
export class RunningSpans {
  readonly #calls = new Set<Span>();
  readonly #loads = new Set<Span>();

  /** Header for what is below; undefined while no traced call runs. */
  get traceparent(): string | undefined {
    return [...this.#calls, ...this.#loads].at(-1)?.traceparent;
  }

  /** The call runs until the function that is returned is called. */
  beginCall(span: Span): () => void {
    if (span.traceparent === undefined) return () => {};
    this.#calls.add(span);
    return () => {
      this.#calls.delete(span);
      if (this.#calls.size === 0) this.#loads.clear(); // what a page loads from now on, no call has caused
    };
  }

  beginLoad(span: Span): () => void {
    this.#loads.add(span);
    return () => void this.#loads.delete(span);
  }
}
