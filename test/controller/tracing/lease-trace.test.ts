import { expect, it } from 'vitest';
import { startMetricExport } from '../../../process/metric-export.ts';
import { eventually } from '../../eventually.ts';
import { fakeCollector } from '../../fakes/collector.ts';
import { startStack } from '../stack.ts';
import { tracedControllers } from './traced-controller.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';
const ROUTE = '/internal/browser-sessions/get-or-create';

const tracing = tracedControllers();

it('one trace leads from the header of get-or-create through the claim and the redemption to each database step', async () => {
  await using collector = await fakeCollector();
  await tracing.start(collector.url);
  let sessionId: string;
  {
    await using stack = await startStack({ OMICRON_POOL_IDLE: 0 });
    const body = { user_id: 'secret-user', conversation_id: 'secret-chat', tags: { secret: 'secret-tag' } };
    const headers = { traceparent: `00-${TRACE}-${PARENT}-01` };
    const answer = await stack.call('POST', `${ROUTE}?q=secret-query`, { body, headers });
    expect(answer.status).toBe(200);
    ({ session_id: sessionId } = answer.body as { session_id: string }); // checked by its route's schema
    const timeline = async () => {
      const read = await stack.call('GET', `/internal/browser-sessions/${sessionId}/events`, { headers });
      return (read.body as { events: { kind: string; data: object }[] }).events; // checked by its route's schema
    };
    const inTrace = { trace_id: TRACE, span_id: expect.stringMatching(/^[\da-f]{16}$/) };
    const dataOf = async (kind: string) => (await timeline()).find(event => event.kind === kind)?.data;
    for (const kind of ['session.claimed', 'session.ready']) expect(await dataOf(kind), kind).toMatchObject(inTrace);
    // Ended by a loop, which is in no trace, though its lease was.
    await stack.database.query('update omicron.browser_sessions set expires_at = clock_timestamp() where id = $1', [
      sessionId,
    ]);
    await eventually('its end', () => dataOf('session.ended'));
    expect(await dataOf('session.ended')).not.toHaveProperty('trace_id');
    // Runners report and proxies watch every few seconds.
    expect(stack.queried('take_work')).toBeGreaterThan(0);
  }
  await tracing.stop();
  const spans = collector.spans();
  const [root] = spans.filter(({ name }) => name === `POST ${ROUTE}`);
  expect(root).toMatchObject({ traceId: TRACE, parentSpanId: PARENT, kind: 2, service: 'omicron-controller' });
  expect(root?.attributes).toEqual({
    'http.request.method': 'POST',
    'http.route': ROUTE,
    'http.response.status_code': 200,
    'url.path': ROUTE,
    'url.scheme': 'http',
  });
  expect(spans.find(({ name }) => name === 'SELECT omicron.acquire')?.attributes).toEqual({
    'db.system.name': 'postgresql',
    'db.namespace': expect.stringMatching(/^[\w-]+$/),
    'db.operation.name': 'SELECT',
    'db.stored_procedure.name': 'omicron.acquire',
  });
  // The lease may be ready, and this stack gone, before the runner has answered.
  expect(spans.find(({ name, kind }) => name === 'POST /assign' && kind === 3)?.attributes).toMatchObject({
    'http.request.method': 'POST',
    'url.template': '/assign',
    'server.address': '127.0.0.1',
    'server.port': expect.stringMatching(/^\d+$/),
  });
  const childrenOf = (name: string) => {
    const above = spans.filter(span => span.name === name).map(({ spanId }) => spanId);
    return spans.filter(({ parentSpanId = '' }) => above.includes(parentSpanId)).map(span => span.name);
  };
  expect(childrenOf(`POST ${ROUTE}`)).toEqual(expect.arrayContaining(['SELECT omicron.acquire', 'start lease']));
  expect(childrenOf('start lease')).toContain('POST /assign');
  expect(childrenOf('POST /assign')).toEqual(['POST /internal/runner-secrets']);
  expect(childrenOf('POST /internal/runner-secrets')).toContain('SELECT omicron.redeem');
  expect(spans.find(({ name }) => name === 'start lease')?.attributes).toMatchObject({
    'omicron.session.id': sessionId,
    'omicron.lease.outcome': 'ready',
  });
  expect(spans.filter(({ traceId }) => traceId !== TRACE).map(({ name }) => name)).toEqual([]);
  expect(collector.received()).not.toContain('secret-');
});

it('a caller that waits for a place has a span of the wait, with the callers before it, around what it asks meanwhile', async () => {
  await using collector = await fakeCollector();
  await tracing.start(collector.url);
  {
    await using stack = await startStack({ OMICRON_POOL_IDLE: 0, OMICRON_CAPACITY: 1 });
    const first = await stack.lease({ user_id: 'first' });
    const body = { user_id: 'second', conversation_id: 'chat', wait_seconds: 30 };
    const waiting = stack.call('POST', ROUTE, { body, headers: { traceparent: `00-${TRACE}-${PARENT}-01` } });
    await eventually('looks at the line', () => stack.queried('line_turns') > 3);
    await stack.call('DELETE', `/internal/browser-sessions/${first.session_id}`);
    expect((await waiting).status).toBe(200);
  }
  await tracing.stop();
  const spans = collector.spans().filter(({ traceId }) => traceId === TRACE);
  const [wait, ...others] = spans.filter(({ name }) => name === 'wait for a place');
  expect(others).toEqual([]);
  const root = spans.find(({ name }) => name === `POST ${ROUTE}`);
  expect(wait).toMatchObject({ parentSpanId: root?.spanId, kind: 1 });
  expect(wait?.attributes).toEqual({ 'omicron.queue.turn': 0, 'omicron.queue.outcome': 'place' });
  const below = spans.filter(({ parentSpanId }) => parentSpanId === wait?.spanId).map(({ name }) => name);
  expect(new Set(below)).toEqual(new Set(['SELECT omicron.acquire']));
  // The looks at the line are for all who wait, and in the trace of none.
  expect(spans.map(({ name }) => name)).not.toContain('SELECT omicron.line_turns');
  expect(spans.map(({ name }) => name)).toContain('start lease');
});

it('a refused request has its code, and none of what its sender wrote', async () => {
  await using collector = await fakeCollector();
  await tracing.start(collector.url);
  {
    await using stack = await startStack({ OMICRON_POOL_IDLE: 0, OMICRON_CAPACITY: 1 });
    await stack.lease({ user_id: 'secret-one' });
    await stack.getOrCreate({ user_id: 'secret-two', wait_seconds: 0 });
    await stack.call('GET', '/internal/users/secret-user/credentials?secret-query');
    await stack.call('GET', '/internal/secret-path?secret-query');
    await stack.call('PUT', '/internal/users/secret-user/credentials/secret-site', {
      body: { username: 'secret-name', password: 'secret-password' },
      headers: { traceparent: 'secret-parent', tracestate: 'secret=state', baggage: 'secret=baggage' },
    });
    await eventually('a ready lease', () => stack.logged().includes('lease ready'));
  }
  await tracing.stop();
  const codes = collector.spans().map(({ attributes }) => attributes['error.type']);
  expect(codes).toContain('capacity_exceeded');
  expect(collector.received()).not.toContain('secret-one');
  expect(collector.received().replaceAll('runner-secrets', '')).not.toMatch(/secret[-=]/);
});

it('the metrics of a controller go to the collector under the names that Prometheus scrapes, with the same values', async () => {
  await using collector = await fakeCollector();
  await using stack = await startStack({ OMICRON_POOL_IDLE: 0 });
  await stack.lease({ user_id: 'secret-user' });
  const read = stack.controller.readMetrics;
  const exported = { name: 'omicron-controller', version: '0', read, onFailed: () => expect.unreachable() };
  const scrape = async () => {
    const text = String((await stack.call('GET', '/metrics', { token: null })).body);
    const scraped = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name = '']) => name);
    return scraped.filter(name => new RegExp(`^${name}(?:_count)?(?:\\{| )`, 'm').test(text)).toSorted();
  };
  // The first collection of garbage, say, gives a metric its first value at any moment. A name stays, so what has the same names
  // before and after an export had them during it.
  const scraped = await eventually('no first value during an export', async () => {
    const before = await scrape();
    await startMetricExport(exported, { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url })();
    const after = await scrape();
    return after.join() === before.join() && after;
  });
  const { body = '' } = collector.metrics().at(-1) ?? {};
  const { metrics } = JSON.parse(body).resourceMetrics[0].scopeMetrics[0];
  const names = metrics.map(({ name }: { name: string }) => name);
  expect(names.toSorted()).toEqual(scraped);
  expect(names.length).toBeGreaterThan(30);
  const active = metrics.find(({ name }: { name: string }) => name === 'omicron_active_sessions');
  expect(active.gauge.dataPoints[0].asDouble).toBe(1);
  expect(body).not.toContain('secret-user');
});
