const TRACEPARENT =
  /^(?<version>[\da-f]{2})-(?<traceId>[\da-f]{32})-(?<spanId>[\da-f]{16})-(?<flags>[\da-f]{2})(?<rest>-.*)?$/;
const ZEROS = /^0+$/;

/** A span that runs in another process. */
export interface RemoteSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly traceFlags: number;
  readonly isRemote: true;
}

/** Undefined where it is malformed, which begins a new trace: https://www.w3.org/TR/trace-context/#traceparent-header */
export function parseTraceparent(text: unknown): RemoteSpan | undefined {
  const { version, traceId = '', spanId = '', flags = '', rest } = TRACEPARENT.exec(String(text))?.groups ?? {};
  const isVersion = version !== undefined && version !== 'ff' && (version !== '00' || rest === undefined);
  if (!isVersion || ZEROS.test(traceId) || ZEROS.test(spanId)) return undefined;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true };
}

export const writeTraceparent = (span: { traceId: string; spanId: string; traceFlags: number }): string =>
  `00-${span.traceId}-${span.spanId}-${(span.traceFlags & 1).toString(16).padStart(2, '0')}`;
