import { randomBytes } from 'node:crypto';

/** Place of a call in a trace; ids in lower-case hex, as OpenTelemetry writes them. */
export type CallSpan = {
  readonly trace_id: string;
  readonly span_id: string;
  /** The client's span. */
  readonly parent_span_id?: string;
};

const TRACEPARENT = /^(?<version>[\da-f]{2})-(?<trace>[\da-f]{32})-(?<parent>[\da-f]{16})-[\da-f]{2}(?<rest>-.*)?$/;
const ZEROS = /^0+$/;

/**
 * A new span, below the client's if its `traceparent` is one: https://www.w3.org/TR/trace-context/#traceparent-header. A
 * malformed one is ignored, as that page wants it: the call begins a trace of its own.
 */
export function callSpan(traceparent: unknown): CallSpan {
  const span_id = randomBytes(8).toString('hex');
  const { version, trace = '', parent = '', rest } = TRACEPARENT.exec(String(traceparent))?.groups ?? {};
  const isVersion = version !== undefined && version !== 'ff' && (version !== '00' || rest === undefined);
  if (!isVersion || ZEROS.test(trace) || ZEROS.test(parent))
    return { trace_id: randomBytes(16).toString('hex'), span_id };
  return { trace_id: trace, span_id, parent_span_id: parent };
}
