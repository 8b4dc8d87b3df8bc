import { AsyncLocalStorage } from 'node:async_hooks';
import {
  createNoopMeter,
  type HrTime,
  type Link,
  type Meter,
  type Span as OtelSpan,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import {
  defaultResource,
  detectResources,
  envDetector,
  type Resource,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type ReadableSpan,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { countLostSpans } from './lost-spans.ts';
import {
  exportHeaders,
  exportTimeoutMs,
  type OtelEnvironment,
  resourceAttributes,
  wholeNumber,
  wrongValue,
} from './otlp-environment.ts';
import {
  NO_SPAN,
  permittedAttributes,
  type RelayedProgram,
  type RelayedSpan,
  type Span,
  type SpanAttributes,
  type SpanIds,
  type SpanOptions,
  type TracedProgram,
  type Tracer,
} from './span.ts';
import { parseTraceparent, writeTraceparent } from './traceparent.ts';

/** Spans that wait for a collector; more are dropped and counted. */
const QUEUE = { min: 1, max: 65_536, otherwise: 2_048 };
const BATCH = { min: 1, max: 65_536, otherwise: 512 };
const DELAY_MS = { min: 1, max: 3_600_000, otherwise: 5_000 };
const EXPORT_TIMEOUT_MS = 5_000;
/** The end of a program waits this long for its last spans. */
const STOP_MS = 1_000;
const LOST_EVERY_MS = 10_000;
const VALUE_CHARACTERS_MAX = 128;

const KINDS = { server: SpanKind.SERVER, client: SpanKind.CLIENT, internal: SpanKind.INTERNAL } as const;

/** Traces of this process by OpenTelemetry's SDK, sent as OTLP over HTTP to the endpoint that the environment names. */
export function openTelemetry(program: TracedProgram, environment: OtelEnvironment): Tracer {
  // The SDK reads both itself, and leaves out silently what it cannot read.
  resourceAttributes(program.name, environment);
  exportHeaders(program.name, 'TRACES', environment);
  const active = new AsyncLocalStorage<OtelSpan>();
  const losses = countLosses(program.onLost);
  const batches = () =>
    new BatchSpanProcessor({
      ...batchesOf(program, environment),
      selfObsMeterProvider: { getMeter: () => losses.meter },
    });
  const provider = new TracerProvider({
    resource: defaultResource()
      .merge(resourceFromAttributes({ 'service.name': program.name, 'service.version': program.version }))
      .merge(detectResources({ detectors: [envDetector] })), // OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES
    sampler: readSampler(program.name, environment),
    spanLimits: { attributeValueLengthLimit: VALUE_CHARACTERS_MAX },
    spanProcessors: [batches()],
  });
  // A queue of their own: however many others send, this program's spans find a place.
  let relayed: BatchSpanProcessor | undefined;
  const tracer = provider.getTracer('omicron-browser', program.version);

  const open = (name: string, { kind, attributes = {}, parent, link }: SpanOptions): Span => {
    const above = active.getStore()?.spanContext();
    const sent = parent === undefined ? undefined : parseTraceparent(parent);
    if (above === undefined && sent === undefined && kind !== 'server') return NO_SPAN;
    const context = sent ?? above;
    const span = tracer.startSpan(
      name,
      {
        kind: KINDS[kind],
        attributes: permittedAttributes(attributes),
        links: linksTo(link),
      },
      context === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, context),
    );
    return new RecordedSpan(span, sent?.spanId, active);
  };

  return {
    open,
    outside: work => active.exit(work),
    current() {
      const span = active.getStore()?.spanContext();
      return span && idsOf(span);
    },
    traceparent() {
      const span = active.getStore()?.spanContext();
      return span && writeTraceparent(span);
    },
    relay(spans, from) {
      relayed ??= batches();
      for (const span of spans) relayed.onEnd(readableSpan(span, from));
    },
    async stop() {
      const { promise: late, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, STOP_MS);
      const sent = Promise.allSettled([provider.shutdown(), relayed?.shutdown()]);
      await Promise.race([sent, late]);
      clearTimeout(timer);
      losses.report();
    },
  };
}

/** A class, as there are some ten of these in a lease: closures would be made for each. */
class RecordedSpan implements Span {
  readonly #span: OtelSpan;
  readonly #sentId: string | undefined;
  readonly #active: AsyncLocalStorage<OtelSpan>;

  constructor(span: OtelSpan, sentId: string | undefined, active: AsyncLocalStorage<OtelSpan>) {
    this.#span = span;
    this.#sentId = sentId;
    this.#active = active;
  }

  get ids(): SpanIds {
    return idsOf(this.#span.spanContext(), this.#sentId);
  }

  get traceparent(): string {
    return writeTraceparent(this.#span.spanContext());
  }

  set(attributes: SpanAttributes): void {
    this.#span.setAttributes(permittedAttributes(attributes));
    if (attributes['error.type'] !== undefined) this.#span.setStatus({ code: SpanStatusCode.ERROR });
  }

  rename(name: string): void {
    this.#span.updateName(name);
  }

  link(traceparent: string | undefined): void {
    this.#span.addLinks(linksTo(traceparent));
  }

  run<T>(work: () => T): T {
    return this.#active.run(this.#span, work);
  }

  end(): void {
    this.#span.end();
  }
}

function linksTo(traceparent: string | undefined): Link[] {
  const context = traceparent === undefined ? undefined : parseTraceparent(traceparent);
  return context === undefined ? [] : [{ context }];
}

/** A span of another program as this SDK passes its own on. Attributes without the form of one are left out, as in spans that begin here. */
function readableSpan(span: RelayedSpan, { name, attributes }: RelayedProgram): ReadableSpan {
  const context = (spanId: string, traceId = span.traceId): SpanContext => ({ traceId, spanId, traceFlags: 1 });
  const [startTime, endTime] = [readNanos(span.startTimeUnixNano), readNanos(span.endTimeUnixNano)];
  const sent = span.attributes.map(({ key, value }) => [key, Object.values(value)[0]]);
  return {
    name: span.name,
    kind: Object.values(KINDS).find(kind => kind === span.kind - 1) ?? SpanKind.INTERNAL,
    spanContext: () => context(span.spanId),
    ...(span.parentSpanId ? { parentSpanContext: { ...context(span.parentSpanId), isRemote: true } } : {}),
    startTime,
    endTime,
    status: { code: span.failed ? SpanStatusCode.ERROR : SpanStatusCode.UNSET },
    attributes: { ...permittedAttributes(Object.fromEntries(sent)), ...permittedAttributes(attributes) },
    links: span.links.map(({ traceId, spanId }) => ({ context: context(spanId, traceId) })),
    events: [],
    duration: [endTime[0] - startTime[0], endTime[1] - startTime[1]],
    ended: true,
    resource: relayedResource(name),
    instrumentationScope: { name: 'omicron-browser' },
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}

const readNanos = (text: string): HrTime => [
  Number(BigInt(text) / 1_000_000_000n),
  Number(BigInt(text) % 1_000_000_000n),
];

/** One for each program: the exporter groups spans by it. */
const resources = new Map<string, Resource>();

function relayedResource(name: string): Resource {
  const known =
    resources.get(name) ??
    defaultResource()
      .merge(detectResources({ detectors: [envDetector] })) // the deployment's OTEL_RESOURCE_ATTRIBUTES
      .merge(resourceFromAttributes({ 'service.name': name }));
  resources.set(name, known);
  return known;
}

const idsOf = ({ traceId, spanId }: SpanContext, parent?: string): SpanIds => ({
  trace_id: traceId,
  span_id: spanId,
  ...(parent === undefined ? {} : { parent_span_id: parent }),
});

/**
 * Address, headers and certificates are read by the exporter; the SDK reads no variable of batches.
 * https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/#batch-span-processor
 */
function batchesOf({ name: program, headers }: TracedProgram, environment: OtelEnvironment) {
  const timeoutMillis = exportTimeoutMs(program, 'TRACES', environment, EXPORT_TIMEOUT_MS);
  const read = (name: string, range: Parameters<typeof wholeNumber>[3]) =>
    wholeNumber(program, environment, [`OTEL_BSP_${name}`], range);
  const maxQueueSize = read('MAX_QUEUE_SIZE', QUEUE);
  return {
    exporter: new OTLPTraceExporter({ timeoutMillis, ...(headers && { headers: async () => ({ ...headers() }) }) }),
    maxQueueSize,
    maxExportBatchSize: Math.min(maxQueueSize, read('MAX_EXPORT_BATCH_SIZE', BATCH)),
    exportTimeoutMillis: read('EXPORT_TIMEOUT', { ...DELAY_MS, otherwise: timeoutMillis }),
    scheduledDelayMillis: read('SCHEDULE_DELAY', DELAY_MS),
  };
}

/** https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/#general-sdk-configuration */
function readSampler(program: string, environment: OtelEnvironment): Sampler {
  const name = environment.OTEL_TRACES_SAMPLER || 'parentbased_always_on';
  const share = environment.OTEL_TRACES_SAMPLER_ARG || '1';
  const ratio = Number(share);
  if (!(ratio >= 0 && ratio <= 1))
    throw wrongValue(program, { name: 'OTEL_TRACES_SAMPLER_ARG', value: share }, 'must be a number from 0 to 1');
  const roots: Readonly<Record<string, () => Sampler>> = {
    always_on: () => new AlwaysOnSampler(),
    always_off: () => new AlwaysOffSampler(),
    traceidratio: () => new TraceIdRatioBasedSampler(ratio),
  };
  const root = roots[name.replace(/^parentbased_/, '')]?.();
  if (root === undefined) {
    const names = Object.keys(roots).flatMap(each => [each, `parentbased_${each}`]);
    throw wrongValue(program, { name: 'OTEL_TRACES_SAMPLER', value: name }, `must be one of ${names.join(', ')}`);
  }
  return name.startsWith('parentbased_') ? new ParentBasedSampler({ root }) : root;
}

/** The processor counts its spans on a meter; those with an `error.type` reached no collector. */
function countLosses(onLost: (spans: number) => void): { meter: Meter; report: () => void } {
  let lost = 0;
  let timer: NodeJS.Timeout | undefined;
  const report = () => {
    clearTimeout(timer);
    timer = undefined;
    if (lost > 0) onLost(lost);
    lost = 0;
  };
  const meter: Meter = Object.create(createNoopMeter());
  meter.createCounter = () => ({
    add(spans, attributes) {
      if (attributes?.['error.type'] === undefined) return;
      lost += spans;
      countLostSpans(spans);
      timer ??= setTimeout(report, LOST_EVERY_MS).unref();
    },
  });
  return { meter, report };
}
