import type { LeaseKey } from '../../contract/lease-key.ts';
import { NO_SPAN, type Span, type SpanAttributes, type SpanIds } from '../../process/span.ts';
import { parseTraceparent } from '../../process/traceparent.ts';
import { openSpan } from '../../process/tracing.ts';

/** OpenTelemetry keeps 128 links of a span. */
const LINKS_MAX = 100;

/**
 * The trace in which a lease was assigned. Its calls are in the traces of their agents: each links to this one, and a span here links
 * to each hundred of them.
 */
export class LeaseTrace {
  /** The span of the assignment; undefined where no caller sent one. */
  readonly traceparent: string | undefined;
  /** Attributes of the spans of calls: a backend finds them by these too. */
  readonly attributes: SpanAttributes;
  #calls: Span = NO_SPAN;
  #links = 0;

  constructor(traceparent: unknown, { session_id, epoch }: Pick<LeaseKey, 'session_id' | 'epoch'>) {
    this.traceparent = parseTraceparent(traceparent) === undefined ? undefined : String(traceparent);
    this.attributes = Object.freeze({ 'omicron.session.id': session_id, 'omicron.session.epoch': epoch });
  }

  /** The place of what happens outside of calls. */
  get ids(): SpanIds | undefined {
    const span = parseTraceparent(this.traceparent);
    return span && { trace_id: span.traceId, span_id: span.spanId };
  }

  /** Links this trace to a call that begins. */
  linkTo(call: Span): void {
    if (this.traceparent === undefined || parseTraceparent(call.traceparent)?.traceFlags !== 1) return;
    if (this.#links === 0)
      this.#calls = openSpan('calls', { kind: 'internal', parent: this.traceparent, attributes: this.attributes });
    this.#calls.link(call.traceparent);
    this.#links += 1;
    if (this.#links === LINKS_MAX) this.end();
  }

  /** The lease is over. */
  end(): void {
    if (this.#links > 0) this.#calls.end();
    this.#links = 0;
  }
}
