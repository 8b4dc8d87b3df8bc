import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { SPANS_PER_MINUTE, SpanAllowance } from '../../../controller/http/span-allowance.ts';
import { fakeCollector } from '../../fakes/collector.ts';
import { problemOf, startStack } from '../stack.ts';
import { tracedControllers } from './traced-controller.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';
const OTHERS_SESSION = '00000000-0000-4000-8000-000000000000';
const newId = () => randomBytes(8).toString('hex');

const tracing = tracedControllers();

const attribute = (key: string, stringValue: string) => ({ key, value: { stringValue } });
const span = (more: object = {}) => ({
  traceId: TRACE,
  spanId: newId(),
  parentSpanId: PARENT,
  name: 'tools/call browser_click',
  kind: 2,
  startTimeUnixNano: '1760000000123456789',
  endTimeUnixNano: '1760000000223456789',
  attributes: [attribute('gen_ai.tool.name', 'browser_click')],
  links: [{ traceId: 'f'.repeat(32), spanId: PARENT, attributes: [], droppedAttributesCount: 0 }],
  events: [{ name: 'secret-event' }],
  status: { code: 2, message: 'secret-message' },
  ...more,
});
const report = (spans: object[]) => ({
  resourceSpans: [
    { resource: { attributes: [attribute('service.name', 'secret-service')] }, scopeSpans: [{ scope: {}, spans }] },
  ],
});

it("a runner's spans reach the controller's collector, as its lease's own and without what no span may have", async () => {
  await using collector = await fakeCollector();
  await tracing.start(collector.url);
  {
    await using stack = await startStack({ OMICRON_POOL_IDLE: 0 });
    const lease = await stack.lease();
    const { given } = await stack.machine.leased();
    const send = (body: unknown, token: string | null = given.artifact_token) =>
      stack.call('POST', '/internal/runner-traces', { body, token });
    const attributes = [
      attribute('gen_ai.tool.name', 'browser_click'),
      attribute('omicron.session.id', OTHERS_SESSION),
      attribute('url.full', 'https://secret.example/?secret-query'),
      attribute('gen_ai.operation.name', 'secret text of a page'),
    ];
    expect((await send(report([span({ attributes })]))).status).toBe(200);
    for (const wrong of [
      report([span({ name: 'text of a page, "secret-name"' })]),
      report([span({ traceId: 'secret' })]),
      report(Array.from({ length: 513 }, () => span())),
      {},
    ]) {
      expect(problemOf(await send(wrong))).toMatchObject({ status: 400, code: 'invalid_request' });
    }
    for (const token of [given.lease_token, null]) expect((await send(report([span()]), token)).status).toBe(401);
    await tracing.stop();
    const [relayed, ...others] = collector.spans().filter(({ service }) => service === 'omicron-runner');
    expect(others).toEqual([]);
    expect(relayed).toMatchObject({
      traceId: TRACE,
      parentSpanId: PARENT,
      name: 'tools/call browser_click',
      kind: 2,
      status: 2,
      links: [{ traceId: 'f'.repeat(32), spanId: PARENT }],
    });
    expect(relayed?.attributes).toEqual({
      'gen_ai.tool.name': 'browser_click',
      'omicron.session.id': lease.session_id,
      'omicron.session.epoch': 1,
    });
    expect(JSON.parse(relayed?.whole ?? '')).toMatchObject({
      startTimeUnixNano: '1760000000123456789',
      endTimeUnixNano: '1760000000223456789',
    });
  }
  expect(collector.received().replaceAll('runner-secrets', '')).not.toContain('secret');
});

it('a controller that traces nothing takes spans, and passes none on', async () => {
  await using stack = await startStack({ OMICRON_POOL_IDLE: 0 });
  await stack.lease();
  const { given } = await stack.machine.leased();
  const options = { body: report([span()]), token: given.artifact_token };
  expect((await stack.call('POST', '/internal/runner-traces', options)).status).toBe(200);
});

it('a lease has its spans of a minute, and takes none of those of another', () => {
  const allowance = new SpanAllowance();
  expect(allowance.take('a', SPANS_PER_MINUTE - 1, 0)).toBe(SPANS_PER_MINUTE - 1);
  expect(allowance.take('a', 5, 1_000)).toBe(1);
  expect(allowance.take('a', 5, 59_999)).toBe(0);
  expect(allowance.take('b', 5, 59_999)).toBe(5);
  expect(allowance.take('a', 5, 60_000)).toBe(5);
});
