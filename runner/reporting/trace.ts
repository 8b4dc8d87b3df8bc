import { randomBytes } from 'node:crypto';
import type { SpanIds } from '../../process/span.ts';
import { parseTraceparent } from '../../process/traceparent.ts';

/** Place of a call in a trace; `parent_span_id` is the client's span. */
export type CallSpan = SpanIds;

/**
 * A new span, below the client's if its `traceparent` is one: https://www.w3.org/TR/trace-context/#traceparent-header. A
 * malformed one is ignored, as that page wants it: the call begins a trace of its own.
 */
export function callSpan(traceparent: unknown): CallSpan {
  const span_id = randomBytes(8).toString('hex');
  const parent = parseTraceparent(traceparent);
  if (parent === undefined) return { trace_id: randomBytes(16).toString('hex'), span_id };
  return { trace_id: parent.traceId, span_id, parent_span_id: parent.spanId };
}
