import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** A span as it came over the wire. */
export interface ReceivedSpan {
  readonly service: string;
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly kind: number;
  readonly attributes: Readonly<Record<string, unknown>>;
  /** 2: the span failed. */
  readonly status: number | undefined;
  /** Spans of other traces, e.g. of a lease. */
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  /** All of the span as it came, as JSON. */
  readonly whole: string;
}

interface Attribute {
  key: string;
  value: Record<string, unknown>;
}

/** Numbers of 64 bits may come as texts. */
const attributeValue = ({ intValue, ...others }: Attribute['value']) =>
  intValue === undefined ? Object.values(others)[0] : Number(intValue);
const valuesOf = (attributes: Attribute[] = []) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, attributeValue(value)]));

/** The spans of what was sent, as JSON of OTLP. */
export const readSpans = (bodies: readonly string[]): ReceivedSpan[] =>
  bodies
    .flatMap(body => JSON.parse(body).resourceSpans)
    .flatMap(({ resource, scopeSpans }) =>
      scopeSpans.flatMap(({ spans }: { spans: Record<string, unknown>[] }) =>
        spans.map(span => ({
          service: String(valuesOf(resource.attributes)['service.name']),
          name: String(span.name),
          traceId: String(span.traceId),
          spanId: String(span.spanId),
          parentSpanId: String(span.parentSpanId ?? '') || undefined, // a root's may be empty
          kind: Number(span.kind),
          attributes: valuesOf(span.attributes as Attribute[]),
          status: (span.status as { code?: number } | undefined)?.code,
          links: (span.links ?? []) as ReceivedSpan['links'],
          whole: JSON.stringify(span),
        })),
      ),
    );

/** A collector of OTLP over HTTP, in JSON: https://opentelemetry.io/docs/specs/otlp/#otlphttp-request */
export async function fakeCollector() {
  const bodies: string[] = [];
  const paths: string[] = [];
  const metricBodies: { body: string; headers: IncomingHttpHeaders }[] = [];
  let answers: 'ok' | 'refuses' | 'hangs' | 'waits' = 'ok';
  let release = Promise.withResolvers<void>();
  const server = createServer(async (request, response) => {
    const body = await text(request);
    if (answers === 'hangs') return;
    if (answers === 'waits') await release.promise;
    if (answers === 'ok' && request.url === '/v1/metrics') metricBodies.push({ body, headers: request.headers });
    else if (answers === 'ok') {
      bodies.push(body);
      paths.push(request.url ?? '');
    }
    response.writeHead(answers === 'ok' ? 200 : 400, { 'content-type': 'application/json' }).end('{}');
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // it listens on TCP
  return {
    url: `http://127.0.0.1:${port}`,
    /** All that was sent, as it came. */
    received: () => bodies.join('\n'),
    /** Requests of spans. */
    batches: () =>
      bodies.map((body, at) => ({
        path: paths[at],
        spans: JSON.parse(body).resourceSpans.flatMap((each: { scopeSpans: { spans: unknown[] }[] }) =>
          each.scopeSpans.flatMap(({ spans }) => spans),
        ).length as number,
      })),
    /** Requests of metrics, as they came. */
    metrics: () => metricBodies,
    /** `waits`: as if asked slowly, until it answers otherwise. */
    answer(how: typeof answers): void {
      answers = how;
      release.resolve();
      release = Promise.withResolvers();
    },
    spans: (): ReceivedSpan[] => readSpans(bodies),
    async [Symbol.asyncDispose](): Promise<void> {
      server.closeAllConnections();
      await new Promise(resolve => server.close(resolve));
    },
  };
}
