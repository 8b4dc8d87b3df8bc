import type { Span, SpanIds } from '../../process/span.ts';
import { inSpan } from '../../process/tracing.ts';
import type { RunningSpans } from '../reporting/running-spans.ts';
import { callSpan } from '../reporting/trace.ts';
import type { Caller } from './caller.ts';

/**
 * Does what an agent asks for in a span below its own, which links to the trace of the lease.
 * https://opentelemetry.io/docs/specs/semconv/gen-ai/mcp/#server
 */
export function inAgentSpan<T>(
  method: 'tools/call' | 'resources/read',
  { traceparent, protocolVersion }: Pick<Caller, 'traceparent' | 'protocolVersion'>,
  spans: RunningSpans,
  work: (span: Span, ids: SpanIds) => Promise<T>,
): Promise<T> {
  const attributes = {
    'mcp.method.name': method,
    ...(protocolVersion === undefined ? {} : { 'mcp.protocol.version': protocolVersion }),
    'network.transport': 'tcp',
    'network.protocol.name': 'http',
    ...spans.lease?.attributes,
  };
  const options = { kind: 'server', parent: traceparent, link: spans.lease?.traceparent, attributes } as const;
  return inSpan(method, options, span => {
    const ids = span.ids ?? callSpan(traceparent);
    const isKnown = span.ids !== undefined || ids.parent_span_id !== undefined;
    return work(span, ids).finally(spans.beginCall(span, isKnown ? ids : undefined));
  });
}
