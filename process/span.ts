/** Place of a span in its trace; ids in lower-case hex, as OpenTelemetry writes them. */
export interface SpanIds {
  readonly trace_id: string;
  readonly span_id: string;
  /** The span that was made elsewhere, of a caller. */
  readonly parent_span_id?: string;
}

/** Ids that an event of the timeline has, without the caller's span. */
export const eventIds = ({ trace_id, span_id }: SpanIds) => ({ trace_id, span_id });

/** Forms of the values that a span may have, by the name in OpenTelemetry's semantic conventions: https://opentelemetry.io/docs/specs/semconv/ */
const FORMS = {
  'http.request.method': /^[A-Z]{1,10}$/,
  // a template, with `:session_id` for its ids
  'http.route': /^\/[\w/:.{}*-]{0,120}$/,
  'url.template': /^\/[\w/:.{}*-]{0,120}$/,
  // the template too: a path has ids of users
  'url.path': /^\/[\w/:.{}*-]{0,120}$/,
  'url.scheme': /^https?$/,
  'http.response.status_code': /^[1-5]\d\d$/,
  'db.system.name': /^postgresql$/,
  'db.namespace': /^[\w-]{1,63}$/,
  'db.operation.name': /^[A-Z]{1,10}$/,
  'db.stored_procedure.name': /^omicron\.[a-z_]{1,60}$/,
  'mcp.method.name': /^[a-z]+\/[a-z]+$/,
  'mcp.protocol.version': /^\d{4}-\d\d-\d\d$/,
  'network.transport': /^tcp$/,
  'network.protocol.name': /^http$/,
  'gen_ai.operation.name': /^execute_tool$/,
  'gen_ai.tool.name': /^[a-z][a-z_]{0,63}$/,
  // a code of contract/problem.ts or contract/tool-codes.ts, or `_OTHER`
  'error.type': /^(?:[a-z][a-z_]{0,63}|_OTHER)$/,
  // of a connection of the egress proxy: how it was asked for, and the class of an address that was refused
  'omicron.egress.method': /^(?:connect|http|upgrade)$/,
  'omicron.egress.address_class': /^[a-z][a-z_]{0,63}$/,
  // of a program of the deployment; never of a site
  'server.address': /^(?:[\w-]{1,63}\.){0,9}[\w-]{1,63}$|^\[?[\da-f:.]{2,45}\]?$/,
  'server.port': /^\d{1,5}$/,
  'omicron.session.id': /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/,
  'omicron.session.epoch': /^\d{1,15}$/,
  'omicron.lease.outcome': /^[a-z][a-z_]{0,63}$/,
  // callers before this one when its wait began, and how the wait ended
  'omicron.queue.turn': /^\d{1,9}$/,
  'omicron.queue.outcome': /^(?:place|refused|left)$/,
} as const;

export type SpanAttributes = { readonly [Name in keyof typeof FORMS]?: string | number };

/**
 * The attributes whose values have their form. A span leaves the deployment, so there is no attribute for an address with its
 * query, a text, an argument, a message or a name that a user chose, and a value that is none of these is left out.
 */
export function permittedAttributes(attributes: Readonly<Record<string, unknown>>): SpanAttributes {
  if (!Object.isFrozen(attributes)) return keepPermitted(attributes);
  const known = frozen.get(attributes) ?? keepPermitted(attributes);
  frozen.set(attributes, known);
  return known;
}

/** Attributes that cannot change, such as those of a statement, are judged once. */
const frozen = new WeakMap<object, SpanAttributes>();

function keepPermitted(attributes: Readonly<Record<string, unknown>>): SpanAttributes {
  const permitted: Record<string, string | number> = {};
  for (const name of Object.keys(attributes)) {
    const value = attributes[name];
    if (typeof value !== 'string' && typeof value !== 'number') continue;
    if (lastPermitted.get(name) !== value) {
      if (!Object.hasOwn(FORMS, name) || !FORMS[name as keyof typeof FORMS].test(String(value))) continue; // a key of the forms
      lastPermitted.set(name, value);
    }
    permitted[name] = value;
  }
  return permitted;
}

/** The last value of each name that had its form: spans of one request or program repeat most, and a form takes longest of all here. */
const lastPermitted = new Map<string, string | number>();

export interface SpanOptions {
  /** `client` and `internal` spans are parts of a trace, and begin none: loops would make one for each of their steps. */
  readonly kind: 'server' | 'client' | 'internal';
  readonly attributes?: SpanAttributes;
  /** A `traceparent` as a caller sent it; without one that is valid, a server's span begins a trace. */
  readonly parent?: unknown;
  /** Another trace that belongs to this span, as a `traceparent`. */
  readonly link?: string | undefined;
}

/** A span that runs. */
export interface Span {
  /** Undefined where nothing is traced. */
  readonly ids: SpanIds | undefined;
  /** Header for work below the span that begins elsewhere; undefined where nothing is traced. */
  readonly traceparent: string | undefined;
  /** Adds attributes; `error.type` makes the span a failed one. */
  set(attributes: SpanAttributes): void;
  /** A name of the product's own, once more is known than at its beginning. */
  rename(name: string): void;
  /** Adds another trace that belongs to this span, as a `traceparent`. */
  link(traceparent: string | undefined): void;
  /** Runs work below the span. */
  run<T>(work: () => T): T;
  end(): void;
}

/** A tracer behind `process/tracing.ts`. */
export interface Tracer {
  open(name: string, options: SpanOptions): Span;
  /** Does work below no span. */
  outside<T>(work: () => T): T;
  /** The running span. */
  current(): SpanIds | undefined;
  /** The running span, as a header for the next program. */
  traceparent(): string | undefined;
  /** Sends spans of another program on, beside its own. */
  relay(spans: readonly RelayedSpan[], from: RelayedProgram): void;
  /** Sends what waits, for a short time. */
  stop(): Promise<void>;
}

/** A span of another program, as OTLP has it: https://github.com/open-telemetry/opentelemetry-proto/blob/main/opentelemetry/proto/trace/v1/trace.proto */
export interface RelayedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string | undefined;
  readonly name: string;
  /** `SPAN_KIND_INTERNAL` is 1, `SPAN_KIND_SERVER` 2 and `SPAN_KIND_CLIENT` 3. */
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[];
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly failed: boolean;
}

/** The program that made them. */
export interface RelayedProgram {
  readonly name: string;
  /** Attributes that each of its spans has, whatever it says itself. */
  readonly attributes: SpanAttributes;
}

export const NO_SPAN: Span = {
  ids: undefined,
  traceparent: undefined,
  set() {},
  rename() {},
  link() {},
  run: work => work(),
  end() {},
};

export interface TracedProgram {
  /** e.g. `controller`; `OTEL_SERVICE_NAME` overrides it. */
  readonly name: string;
  readonly version: string;
  /** Called with the number of spans that no collector took, at most once in ten seconds. */
  readonly onLost: (spans: number) => void;
  /** Headers of each export, beside those of the environment. */
  readonly headers?: () => Readonly<Record<string, string>>;
}
