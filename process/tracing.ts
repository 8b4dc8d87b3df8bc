import * as z from 'zod';
import { EnvironmentError, httpUrl } from './environment.ts';
import { NO_SPAN, type Span, type SpanIds, type SpanOptions, type TracedProgram, type Tracer } from './span.ts';

// Traces of this process, by OpenTelemetry: docs/operations.md, "Traces". Off unless the standard variables name an endpoint.

/** https://opentelemetry.io/docs/specs/otel/protocol/exporter/#endpoint-urls-for-otlphttp */
const ENDPOINT = 'OTEL_EXPORTER_OTLP_ENDPOINT';
const DISABLED = 'OTEL_SDK_DISABLED';

/**
 * Variables of tracing that local runners take from their controller. `OTEL_EXPORTER_OTLP_HEADERS` is none: it may hold a key,
 * and a runner has a browser.
 */
export const TRACING_VARIABLES = [
  ENDPOINT,
  DISABLED,
  'OTEL_TRACES_SAMPLER',
  'OTEL_TRACES_SAMPLER_ARG',
  'OTEL_RESOURCE_ATTRIBUTES',
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
  const endpoint = environment[ENDPOINT];
  if (!endpoint || environment[DISABLED]?.toLowerCase() === 'true') return async () => {};
  const parsed = z.string().pipe(httpUrl()).safeParse(endpoint);
  if (!parsed.success) throw new EnvironmentError(program.name, [[ENDPOINT, 'is wrong: must be an http or https URL']]);
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
