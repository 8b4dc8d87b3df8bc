import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTracing } from '../../process/tracing.ts';
import { egressForwarder } from '../../runner/browser/egress-forwarder.ts';
import { eventually } from '../eventually.ts';
import { fakeCollector } from '../fakes/collector.ts';
import { type ProxyNetwork, proxyNetwork } from './proxy-network.ts';
import { basic, get, isAnswer, tunnel } from './raw-client.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';
const SENT = `00-${TRACE}-${PARENT}-01`;
const OTHER_TRACE = 'ffffffffffffffffffffffffffffffff';

let network: ProxyNetwork;
beforeAll(async () => {
  network = await proxyNetwork({ 'inner.test': { a: ['10.0.0.7'] } });
});
afterAll(() => network.close());

/** The spans that the collector got while `work` ran. */
async function tracedBy(work: () => Promise<void>) {
  await using collector = await fakeCollector();
  process.env.OTEL_EXPORTER_OTLP_ENDPOINT = collector.url;
  const stop = await startTracing({ name: 'omicron-egress', version: '0', onLost() {} }, process.env);
  try {
    await work();
  } finally {
    await stop();
    delete process.env.OTEL_EXPORTER_OTLP_ENDPOINT;
  }
  return { spans: collector.spans(), received: collector.received() };
}

it('a connection is below the call that caused it, as long as it takes to open, and a refused one has its code', async () => {
  const lease = network.lease({ deny: ['hunter22.test'] });
  const { port } = network.egress;
  const auth = `${lease.auth}Proxy-Traceparent: ${SENT}\r\n`;
  const { spans, received } = await tracedBy(async () => {
    expect((await get(port, auth, `http://site.test:${network.site.port}/secret?q=hunter22`)).status).toBe(200);
    const socket = await tunnel(port, auth, `site.test:${network.site.port}`);
    if (isAnswer(socket)) throw new Error('refused');
    socket.destroy();
    await get(port, auth, 'http://hunter22.test/');
    await get(port, auth, 'http://inner.test/');
  });
  const session = { 'omicron.session.id': lease.sessionId };
  expect(spans.map(({ name, traceId, parentSpanId }) => [name, traceId, parentSpanId])).toEqual(
    Array.from({ length: 4 }, () => ['egress connection', TRACE, PARENT]),
  );
  expect(spans.map(({ attributes }) => attributes)).toMatchObject([
    { ...session, 'omicron.egress.method': 'http', 'server.port': network.site.port },
    { ...session, 'omicron.egress.method': 'connect', 'server.port': network.site.port },
    { ...session, 'error.type': 'site_denied' },
    { ...session, 'error.type': 'internal_address', 'omicron.egress.address_class': 'private' },
  ]);
  // The timeline has the connection's own span.
  for (const span of spans.slice(2)) {
    const { traceId, spanId, attributes } = span;
    const line = () => network.controller.denials.find(denial => 'span_id' in denial && denial.span_id === spanId);
    expect(await eventually('its line', line)).toMatchObject({ code: attributes['error.type'], trace_id: traceId });
  }
  // The header ends at the proxy; a name may be made up of anything.
  expect(JSON.stringify(network.site.requests)).not.toContain(TRACE);
  for (const text of ['hunter22', 'secret', 'site.test', 'inner.test', lease.credential])
    expect(received, text).not.toContain(text);
});

it('a stranger, a connection that no call caused and a malformed header begin no trace', async () => {
  const lease = network.lease();
  const url = `http://site.test:${network.site.port}/`;
  const { spans } = await tracedBy(async () => {
    const stranger = basic(lease.runnerId, 'wrong');
    expect((await get(network.egress.port, `${stranger}Proxy-Traceparent: ${SENT}\r\n`, url)).status).toBe(407);
    await get(network.egress.port, lease.auth, url);
    await get(network.egress.port, `${lease.auth}Proxy-Traceparent: hunter22\r\n`, url);
  });
  expect(spans).toEqual([]);
});

it('a page cannot choose the trace of its connections, and its own traceparent goes to the site as it is', async () => {
  const lease = network.lease();
  const forwarder = await egressForwarder({ egressUrl: `http://127.0.0.1:${network.egress.port}` });
  const { spans } = await tracedBy(async () => {
    forwarder.lease({ ...lease, holdsSecret: () => false, traceparent: () => SENT });
    const port = Number(new URL(forwarder.proxyUrl).port);
    const chosen = `00-${OTHER_TRACE}-${PARENT}-01`;
    const url = `http://site.test:${network.site.port}/own`;
    await get(port, `Proxy-Traceparent: ${chosen}\r\ntraceparent: ${chosen}\r\n`, url);
  });
  await forwarder.close();
  expect(spans.map(({ traceId }) => traceId)).toEqual([TRACE]);
  expect(network.site.requests.at(-1)?.headers.traceparent).toContain(OTHER_TRACE);
});
