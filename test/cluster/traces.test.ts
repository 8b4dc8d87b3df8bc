import { randomUUID } from 'node:crypto';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { BrowserSessions } from '../../client/browser-sessions.ts';
import { applyEnvironment, deployedEnvironment, waitUntilRunning } from '../../cluster/deploy.ts';
import { SITES } from '../../cluster/fixtures/objects.ts';
import { type Ingress, openIngress } from '../../cluster/ingress.ts';
import { kubectl } from '../../cluster/kubectl.ts';
import { LABELS, NAMESPACES, RUNNER_TRACES_PATH, SERVICES } from '../../contract/names.ts';
import { leaseAnswer } from '../../contract/session.ts';
import { serviceKey, signServiceToken } from '../../contract/tokens.ts';
import { checkSettings } from '../../manifests/check-settings.ts';
import type { Environment } from '../../manifests/environment-type.ts';
import { eventually } from '../eventually.ts';
import { readSpans } from '../fakes/collector.ts';
import { argoPaused } from './argo-paused.ts';
import { COLLECTOR, startClusterCollector } from './collector.ts';
import { visitConsole } from './console-visit.ts';
import { networkOf } from './node.ts';
import { podsOf, uidOf } from './pods.ts';
import { probeFrom } from './probe.ts';

// The environment with a collector, as an operator chooses one, on the cluster: OpenTelemetry's own, in a pod.

const SOON = { OTEL_BSP_SCHEDULE_DELAY: '500', OTEL_METRIC_EXPORT_INTERVAL: '2000' } as const;

let before: Environment;
let paused: AsyncDisposable;
let collector: Awaited<ReturnType<typeof startClusterCollector>>;
let ingress: Ingress;

beforeAll(async () => {
  paused = await argoPaused();
  before = await deployedEnvironment();
  collector = await startClusterCollector();
  const env = { ...before, collector: COLLECTOR, settings: { controller: SOON, egress: SOON, console: SOON } };
  checkSettings(env);
  await applyEnvironment(env);
  await waitUntilRunning();
  // Warm runners of the template before are replaced.
  await eventually(
    'runners of the new template',
    async () => {
      const pods = await podsOf(NAMESPACES.runners, LABELS.runnerId);
      const isNew = (pod: (typeof pods)[number]) => JSON.stringify(pod.spec).includes(RUNNER_TRACES_PATH);
      return pods.length > 0 && pods.every(isNew);
    },
    150_000,
  );
  // A replica of the template before may answer a runner's redemption until it has ended, and has no spans.
  const hashes = ['-o', 'jsonpath={.items[*].metadata.labels.pod-template-hash}'];
  await eventually(
    'controllers of the new template alone',
    async () => {
      const all = await kubectl([
        '-n',
        NAMESPACES.system,
        'get',
        'pods',
        '-l',
        `app=${SERVICES.controller}`,
        ...hashes,
      ]);
      return new Set(all.split(' ')).size === 1;
    },
    150_000,
  );
  ingress = await openIngress();
}, 600_000);

afterAll(async () => {
  ingress?.close();
  await applyEnvironment(before);
  await waitUntilRunning();
  await collector?.stop();
  await paused[Symbol.asyncDispose]();
}, 200_000);

test('one trace of an agent leads through controller, runner and egress proxy to the collector, which no page reaches', {
  timeout: 240_000,
}, async () => {
  const trace = randomUUID().replaceAll('-', '');
  const traceparent = `00-${trace}-00f067aa0ba902b7-01`;
  const user = `traced-${randomUUID()}`;
  // Even where a policy opens its ports.
  const ports = collector.addresses.map(({ port }) => port);
  await new BrowserSessions(ingress).putPolicy({ userId: user }, { version: 1, sites: { ports: [80, ...ports] } });
  const answer = await fetch(`${ingress.url}/internal/browser-sessions/get-or-create`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${await signServiceToken(serviceKey(ingress.serviceSecret))}`,
      'content-type': 'application/json',
      traceparent,
    },
    body: JSON.stringify({ user_id: user, conversation_id: 'chat', wait_seconds: 60, record_video: false }),
  });
  const lease = leaseAnswer.parse(await answer.json());
  const client = new Client({ name: 'test', version: '1' });
  const requestInit = { headers: { ...lease.mcp_headers } };
  await client.connect(new StreamableHTTPClientTransport(new URL(lease.mcp_url ?? ''), { requestInit }));
  const goto = (url: string) =>
    client.callTool({ name: 'browser_navigate', arguments: { url }, _meta: { traceparent } });
  const opened = await goto(`${SITES.site}/login?query=hunter22`);
  expect(opened, JSON.stringify(opened)).not.toMatchObject({ isError: true });

  // A page asks the proxy for the collector, and one that has taken its browser over asks past it.
  for (const { host, port } of collector.addresses) {
    const refused = await goto(`http://${host}:${port}/v1/traces`);
    expect(refused, host).toMatchObject({ isError: true });
    expect(JSON.stringify(refused), host).toContain('internal_address');
  }
  const [pod] = await podsOf(NAMESPACES.runners, `${LABELS.sessionId}=${lease.session_id}`);
  const targets = collector.addresses.map(address => ({ by: 'tcp', ...address }) as const);
  expect(await probeFrom(await networkOf(pod ? uidOf(pod) : ''), targets)).toEqual(['closed', 'closed']);

  await client.close();
  await visitConsole(user);
  await fetch(`${ingress.url}/internal/browser-sessions/${lease.session_id}`, {
    method: 'DELETE',
    headers: { authorization: `Bearer ${await signServiceToken(serviceKey(ingress.serviceSecret))}`, traceparent },
  });

  const received = async (path: string) =>
    (await collector.received()).filter(each => each.path === path).map(({ body }) => body);
  const spans = await eventually(
    'the spans of all programs',
    async () => {
      const all = readSpans(await received('/v1/traces'));
      const named = (name: string) => all.some(span => span.traceId === trace && span.name === name);
      const isConsole = all.some(({ service }) => service === 'omicron-console');
      return named('calls') && named('egress connection') && named('SELECT omicron.redeem') && isConsole && all;
    },
    60_000,
  );
  const ofTrace = spans.filter(({ traceId }) => traceId === trace);
  const names = ofTrace.map(({ service, name }) => `${service} ${name}`);
  expect(names).toEqual(
    expect.arrayContaining([
      'omicron-controller POST /internal/browser-sessions/get-or-create',
      'omicron-controller SELECT omicron.acquire',
      'omicron-controller POST /assign',
      'omicron-runner POST /assign',
      'omicron-controller POST /internal/runner-secrets',
      'omicron-controller SELECT omicron.redeem',
      'omicron-runner tools/call browser_navigate',
      'omicron-runner page load',
      'omicron-egress egress connection',
    ]),
  );
  const above = (span: (typeof spans)[number] | undefined) =>
    ofTrace.find(({ spanId }) => spanId === span?.parentSpanId)?.name;
  const connection = ofTrace.find(({ name, status }) => name === 'egress connection' && status !== 2);
  expect(above(connection)).toMatch(/^(page load|tools\/call browser_navigate)$/);
  for (const span of ofTrace.filter(({ service }) => service === 'omicron-runner'))
    expect(span.attributes['omicron.session.id'], span.name).toBe(lease.session_id);

  const metrics = await eventually('metrics', async () => {
    const bodies = (await received('/v1/metrics')).join('\n');
    return bodies.includes('omicron_active_sessions') && bodies.includes('omicron_egress_leases') && bodies;
  });
  for (const secret of [user, 'hunter22', ingress.serviceSecret, 'Bearer'])
    for (const body of [metrics, ...(await received('/v1/traces'))]) expect(body).not.toContain(secret);
});
