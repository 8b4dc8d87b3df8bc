import { otlpUrl } from './otlp-environment.ts';
import {
  NO_SPAN,
  type RelayedProgram,
  type RelayedSpan,
  type Span,
  type SpanIds,
  type SpanOptions,
  type TracedProgram,
  type Tracer,
} from './span.ts';

// Traces of this process, by OpenTelemetry: docs/operations.md, "Traces". Off unless the standard variables name an endpoint.

/**
 * Variables of tracing that local runners take from their controller. `OTEL_EXPORTER_OTLP_HEADERS` is none: it may hold a key,
 * and a runner has a browser.
 */
export const TRACING_VARIABLES = [
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
  'OTEL_EXPORTER_OTLP_PROTOCOL',
  'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL',
  'OTEL_EXPORTER_OTLP_TIMEOUT',
  'OTEL_EXPORTER_OTLP_TRACES_TIMEOUT',
  'OTEL_SDK_DISABLED',
  'OTEL_TRACES_EXPORTER',
  'OTEL_TRACES_SAMPLER',
  'OTEL_TRACES_SAMPLER_ARG',
  'OTEL_RESOURCE_ATTRIBUTES',
  'OTEL_BSP_SCHEDULE_DELAY',
  'OTEL_BSP_EXPORT_TIMEOUT',
  'OTEL_BSP_MAX_QUEUE_SIZE',
  'OTEL_BSP_MAX_EXPORT_BATCH_SIZE',
] as const;

/** Variables that a local egress proxy, which has no browser, takes besides. */
export const EXPORT_VARIABLES = [
  ...TRACING_VARIABLES,
  'OTEL_EXPORTER_OTLP_HEADERS',
  'OTEL_EXPORTER_OTLP_TRACES_HEADERS',
  'OTEL_EXPORTER_OTLP_METRICS_HEADERS',
  'OTEL_EXPORTER_OTLP_METRICS_ENDPOINT',
  'OTEL_EXPORTER_OTLP_METRICS_PROTOCOL',
  'OTEL_EXPORTER_OTLP_METRICS_TIMEOUT',
  'OTEL_METRICS_EXPORTER',
  'OTEL_METRIC_EXPORT_INTERVAL',
] as const;

let tracer: Tracer | undefined;

/**
 * Starts to trace where the environment says so, and answers how to stop. OpenTelemetry is loaded then only: it is 3 MB of code.
 * Throws EnvironmentError.
 */
export async function startTracing(
  program: TracedProgram,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<() => Promise<void>> {
  if (otlpUrl(program.name, 'TRACES', environment) === undefined) return async () => {};
  const { openTelemetry } = await import('./open-telemetry.ts');
  const started = openTelemetry(program, environment);
  tracer = started;
  return () => {
    if (tracer === started) tracer = undefined;
    return started.stop();
  };
}

/** Whether spans go anywhere: listeners that only serve them are left out otherwise. */
export const isTracing = (): boolean => tracer !== undefined;

/** Sends spans of another program on; none where nothing is traced. */
export const relaySpans = (spans: readonly RelayedSpan[], from: RelayedProgram): void => tracer?.relay(spans, from);

/** Opens a span; the caller ends it. */
export const openSpan = (name: string, options: SpanOptions): Span => tracer?.open(name, options) ?? NO_SPAN;

/** Does work in a span, which fails with it. The error's text is not in the span: it may hold anything. */
export async function inSpan<T>(name: string, options: SpanOptions, work: (span: Span) => Promise<T>): Promise<T> {
  if (tracer === undefined) return work(NO_SPAN);
  const span = tracer.open(name, options);
  try {
    return await span.run(() => work(span));
  } catch (error) {
    span.set({ 'error.type': codeOf(error) });
    throw error;
  } finally {
    span.end();
  }
}

/** Does work that outlives the request that began it, such as a loop: what it asks of other programs is in no trace. */
export const outsideSpans = <T>(work: () => T): T => (tracer === undefined ? work() : tracer.outside(work));

/** The span that runs here, for log lines and events. */
export const currentSpan = (): SpanIds | undefined => tracer?.current();

/** Header of a call to the next program: https://www.w3.org/TR/trace-context/#traceparent-header */
export const traceHeaders = (): Record<string, string> => {
  const traceparent = tracer?.traceparent();
  return traceparent === undefined ? {} : { traceparent };
};

/** The request of a call to the next program, with the header. */
export const withTraceHeaders = <R extends { headers?: Record<string, string> }>(request: R): R =>
  tracer === undefined ? request : { ...request, headers: { ...request.headers, ...traceHeaders() } };

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' && /^[a-z_]+$/.test(error.code)
    ? error.code
    : '_OTHER';
